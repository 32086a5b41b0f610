"""Whether the parts of packages can be imported, tested in a new process: the service itself imports none of them."""

from __future__ import annotations

from lutra_models.errors import InvalidOptions
from lutra_models.gp.documents import plugged
from lutra_models.gp.options import Options

from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import WorkerLost


def verify_importable(options: Options, make_worker: MakesWorker) -> None:
    """Raises InvalidOptions for parts that cannot be imported, with what is wrong with each."""
    if not plugged(options):
        return
    worker = make_worker()
    try:
        broken = worker.run("broken_parts", {"options": options.to_dict()})["broken"]
    except WorkerLost as error:
        names = ", ".join(f"{one.part.option} = {one.name!r}" for one in plugged(options))
        broken = [f"{names} cannot be imported: {error}"]
    finally:
        worker.close()
    if broken:
        raise InvalidOptions("; ".join(map(str, broken))[:2000])
