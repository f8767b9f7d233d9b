"""KDS as an MCP server: tools and prompts for any client of that protocol."""
