"""MCP: any server's results fit, and stay MCP. Importing it loads nothing: ``command`` has what is run."""
