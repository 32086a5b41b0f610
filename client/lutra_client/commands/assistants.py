"""`lutra mcp`: the tools for AI assistants over stdin and stdout."""

from __future__ import annotations

import asyncio

import click

from lutra_client.client import AsyncClient


@click.command()
def mcp() -> None:
    """Serve Lutra's tools to an AI assistant over stdin and stdout (Model Context Protocol).

    The assistant starts this command itself. LUTRA_URL is the service's address, LUTRA_TOKEN a token with the scope
    `propose`, or `read` for an assistant that proposes nothing. Without them the context in use counts.

    \b
    LUTRA_TOKEN=lutra_… lutra mcp
    """
    try:
        from mcp.server.stdio import stdio_server

        from lutra_client.assistants.server import server
    except ImportError as error:
        raise click.ClickException("`lutra mcp` needs an extra: pip install 'lutra-client[mcp]'") from error

    async def serve(client: AsyncClient) -> None:
        serving = server(client.driver)
        async with client, stdio_server() as (read, write):
            await serving.run(read, write, serving.create_initialization_options())

    try:
        client = AsyncClient.from_environment()
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    asyncio.run(serve(client))
