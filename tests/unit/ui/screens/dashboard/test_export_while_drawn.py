"""A View is exported in a loop by another thread while the screen draws it."""

import threading

from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.ui.app import SchedtopApp
from tests.unit.ui.drive import GivenSource, collected

ROUNDS = 2


async def test_exports_are_the_same_while_the_screen_draws_the_view() -> None:
    source = GivenSource(cpus=16)
    app = SchedtopApp(source)
    async with app.run_test(size=(200, 60)) as pilot:
        dashboard = await collected(pilot, source, 5)
        await pilot.press("space")  # a frozen View stays the same
        view = dashboard.view
        assert view is not None
        expected = to_json(view)
        exported: list[str] = []
        done = threading.Event()

        def export() -> None:
            while not done.is_set():
                exported.append(to_json(view))

        exporter = threading.Thread(target=export)
        exporter.start()
        try:
            for _ in range(ROUNDS):
                # Every preset draws other panes of the same View.
                await pilot.press("2", "3", "4", "5", "1")
        finally:
            done.set()
            exporter.join()
        assert dashboard.view is not None
        assert dashboard.view.frame is view.frame
    assert exported
    assert set(exported) == {expected}
