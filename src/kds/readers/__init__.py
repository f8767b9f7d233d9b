"""Reading files into sections: Markdown, text, HTML, PDF and DOCX."""
