from __future__ import annotations

from lutra_agent.commands.cli import main

if __name__ == "__main__":
    main()
