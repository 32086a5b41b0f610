"""Tools for AI assistants: the Model Context Protocol over Lutra's REST interface. It needs the extra `mcp`."""
