"""KDS as an MCP server: tools, prompts and resources for any client of that protocol."""
