"""Where `lutra-agent tune` meets the world: the lock decides whether it works or watches."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_models.server import ServerSetting

from lutra_agent import guard
from lutra_agent.clock import SystemClock
from lutra_agent.config import Config
from lutra_agent.errors import ConfigError
from lutra_agent.run import Beside, running
from lutra_agent.shield import SignalShield, Stopped
from lutra_agent.state import State
from lutra_agent.transport import Transport
from lutra_agent.tune import Session, Wish


def tuned(config: Config, wish: Wish) -> Iterator[str]:
    """The session's lines. Raises ConfigError where the agent's file does not allow a lab session."""
    if config.agent.mode != "lab" or config.driver is None:
        raise ConfigError("a tuning session needs agent.mode = 'lab' and a [driver] section")
    clock = SystemClock()
    transport = Transport(config.service, config.service.token())
    shield = SignalShield()
    shield.install()
    try:
        if not _free(config):
            yield "an agent is already running here: watching its session"
            yield from Session(transport, None, clock, wish).lines()
        else:
            with running(config, clock, shield) as loop:
                yield from Session(transport, loop, clock, wish).lines()
        yield from _statements(config)
    except Stopped:
        yield "ended; the session is still open on the service"
    finally:
        transport.close()


def _statements(config: Config) -> Iterator[str]:
    """What is active now and was not before the agent's first change, as statements."""
    beside = Beside(config, SystemClock())
    baseline = guard.find(beside.state, guard.BASELINE)
    try:
        if baseline is not None:
            settings = beside.look().settings
            changed = [n for n, s in settings.items() if s.value != baseline.active.get(n, s.value)]
            yield f"active now, {len(changed)} settings away from the baseline:"
            yield from (f"  {text};" for n in changed for text in _texts(beside, n, settings[n]))
    finally:
        beside.engine.close()


def _texts(beside: Beside, name: str, setting: ServerSetting) -> Iterator[str]:
    return (s.text for s in beside.engine.put_back(name, setting.persisted, setting.value, restart=False))


def _free(config: Config) -> bool:
    state = State(config.agent.state_dir)
    free = state.lock()
    state.unlock()
    return free
