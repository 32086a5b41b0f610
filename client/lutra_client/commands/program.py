"""`lutra` itself: the table of its verbs, each loaded when it is typed and not before.

Another distribution plugs a verb in as an entry point of the group `lutra.commands`: a click command with its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import click

from lutra_client.commands.signs import stoppable

ELSEWHERE = "lutra.commands"
"""The group of entry points by which another distribution brings verbs."""
OWN = "lutra-client"


@dataclass(frozen=True)
class Verb:
    """`at` is its function in `lutra_client.commands`, empty for a verb that `brought_by` plugs in."""

    about: str
    at: str = ""
    brought_by: str = OWN


def _service(about: str) -> Verb:
    return Verb(about, brought_by="lutra-service")


VERBS: dict[str, dict[str, Verb]] = {
    "Look": {
        "status": Verb("Show the service and its databases, or one database.", "look:status"),
        "findings": Verb("List what is wrong, and the cures.", "findings:findings"),
        "history": Verb("List the changes that were applied, undone and refused.", "look:history"),
        "summary": Verb("Summarise a week: load, changes, findings; as text or as a page.", "summary:summary"),
        "events": Verb("List the guards that fired.", "protection:events"),
        "watch": Verb("Follow a recommendation or a session until it ends.", "look:watch"),
        "check": Verb("Look at a server without a service, and list what is wrong.", brought_by="lutra-agent"),
    },
    "Set up": {
        "up": _service("Start a service on this machine, with everything that it needs."),
        "login": Verb("Use a running service: check a token, and keep it.", "services:login"),
        "contexts": Verb("List the services that you use, and switch between them.", "services:contexts"),
        "add": Verb("Add a database by its URL, and set its agent up.", brought_by="lutra-agent"),
        "mcp": Verb("Serve tools to an AI assistant over stdin and stdout.", "assistants:mcp"),
        "doctor": Verb("Check the service, the token, the clocks and the agents.", "doctor:doctor"),
        "demo": Verb("Tune a scratch server on this machine, start to end.", brought_by="lutra-lab"),
    },
    "Decide": {
        "sessions": Verb("Open, list, stop and resume tuning sessions.", "sessions:sessions"),
        "next": Verb("Ask for the next recommendation, and show it.", "decide:next_"),
        "show": Verb("Show a recommendation.", "decide:show"),
        "approve": Verb("Approve a recommendation, or some of its changes.", "decide:approve"),
        "reject": Verb("Reject a recommendation.", "decide:reject"),
        "rollback": Verb("Restore the settings from before a recommendation.", "decide:rollback"),
        "what-if": Verb("Predict the effect of settings without changing anything.", "decide:what_if"),
        "risks": Verb("Accept findings as risks, list and withdraw them.", "findings:risks"),
    },
    "Fleet": {
        "databases": Verb("List, label, retire and delete databases.", "databases:databases"),
        "remove": Verb("Retire a database, and end its agent here.", brought_by="lutra-agent"),
        "policy": Verb("Show or change what may be tuned.", "databases:policy"),
        "guardrails": Verb("Show or change the limits that undo a change.", "protection:guardrails"),
        "windows": Verb("Show or change the maintenance windows.", "protection:windows"),
        "tokens": Verb("Create, list, rotate and revoke tokens.", "access:tokens"),
        "audit": Verb("List who did what.", "access:audit"),
        "receivers": Verb("Notify people and programs of what matters.", "receivers:receivers"),
    },
    "Data": {
        "export": _service("Write all observations, with the settings that were active."),
        "import": _service("Import measurements as past workloads."),
        "models": _service("List, score and promote model versions."),
        "notebook": Verb("Open the notebooks for data scientists in JupyterLab.", brought_by="lutra-notebooks"),
    },
    "Service": {
        "down": _service("Stop the service that `lutra up` started."),
        "logs": _service("Show the log of the service that `lutra up` started."),
        "serve": _service("Run a service in the foreground."),
        "migrate": _service("Create or update the schema of the service's database."),
        "admin-token": _service("Create an administrator's token in the service's database."),
        "prune": _service("Merge old windows and delete unneeded rows."),
        "train": _service("Fit past workloads whose model is missing or outdated."),
        "replay": _service("Recompute a recommendation, and compare every bit."),
    },
}
"""By section of `lutra --help`, in the order in which they are read."""
KNOWN = {name: verb for section in VERBS.values() for name, verb in section.items()}


class Program(click.Group):
    """Loads a verb by its name."""

    def list_commands(self, context: click.Context) -> list[str]:
        brought = entry_points(group=ELSEWHERE).names
        return [*(n for n, verb in KNOWN.items() if verb.at or n in brought), *sorted(brought - KNOWN.keys())]

    def invoke(self, context: click.Context) -> Any:
        """Ctrl-C at a wait that has no sentence of its own ends with one, and with the status of a shell."""
        with stoppable("stopped: what is done stays, and the same command continues"):
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, words: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, words)
        except click.NoSuchCommand as error:
            typed = error.command_name
        from lutra_models.errors import printable

        near = get_close_matches(typed, self.list_commands(context)) or self._inside(context, typed)
        told = f" Did you mean {' or '.join(f'`lutra {name}`' for name in near)}?" if near else ""
        raise click.UsageError(f"There is no verb {printable(typed)!r}.{told}", context)

    def _inside(self, context: click.Context, name: str) -> list[str]:
        """The verbs with a verb of this name, as in "databases retire"."""
        groups = ((verb, self.get_command(context, verb)) for verb in self.list_commands(context) if verb in KNOWN)
        return [f"{verb} {name}" for verb, group in groups if isinstance(group, click.Group) and name in group.commands]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        verb = KNOWN.get(name)
        if verb is not None and verb.at:
            module, _, function = verb.at.partition(":")
            own: click.Command = getattr(import_module(f"lutra_client.commands.{module}"), function)
            return own
        for found in entry_points(group=ELSEWHERE, name=name):
            command: click.Command = found.load()
            return command
        if verb is not None:
            raise click.UsageError(f"`lutra {name}` comes with another distribution: pip install {verb.brought_by}")
        return None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Each section's verbs; nothing is loaded for it but what a distribution brings that is not Lutra's."""
        here = self.list_commands(context)
        width = max(map(len, here))
        for section, verbs in VERBS.items():
            rows = [(name.ljust(width), verb.about) for name, verb in verbs.items() if name in here]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)
        others = [(name.ljust(width), self._about(context, name)) for name in here if name not in KNOWN]
        if others:
            with formatter.section("Other"):
                formatter.write_dl(others)

    def _about(self, context: click.Context, name: str) -> str:
        command = self.get_command(context, name)
        return "" if command is None else command.get_short_help_str()


@click.group(cls=Program)
@click.version_option(package_name=OWN)
def main() -> None:
    """Lutra recommends database settings, and predicts their p99 and QPS.

    \b
    lutra up                         start a service here
    lutra doctor                     check that everything is in place
    lutra sessions open shop         begin to tune the database shop
    lutra next shop                  read the next recommendation
    lutra approve shop               let the agent apply it
    lutra rollback shop              take it back

    LUTRA_URL, LUTRA_TOKEN and LUTRA_CA_FILE take precedence over the service of `lutra contexts`. DATABASE is a name or
    an id, and is optional if the token reaches only one database. RECOMMENDATION is an id, or the database whose newest
    one is meant. `lutra VERB --help` explains a verb.
    """


if __name__ == "__main__":
    main()
