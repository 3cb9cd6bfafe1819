"""Bounds that need no search: what a level could be at most if nothing else mattered."""

from __future__ import annotations

from vplacer.solver.future.count import left_of, mix_points
from vplacer.solver.instance import Instance
from vplacer.solver.reseat import option_change, option_cost
from vplacer.solver.room import blocks_of
from vplacer.solver.wishes import POINTS


def plain_bounds(instance: Instance) -> dict[str, int]:
    """Return an upper bound of each level in the maximised sense, over all answers.

    "power_cycles" and "moves" assume that every demand is placed: ask for them only when
    the levels before say so.
    """
    found: dict[str, int] = {"locality": 0, "power_cycles": 0, "moves": 0, "room": 0, "hosts": 0}
    for cls in instance.classes:
        name = f"placed:{cls.demand.priority}"
        found[name] = found.get(name, 0) + cls.count * cls.demand.weight_milli
        points = [option.points for task in instance.tasks for option in task.options.get(cls.index, ())]
        points += [task.stay_points[cls.index] for task in instance.tasks if cls.index in task.stay_points]
        found["locality"] += cls.count * max(points, default=0)
        if cls.vm is not None and cls.stay is None:
            seats = [
                (option, task.state) for task in instance.tasks for option in task.options.get(cls.index, ())
            ]
            found["moves"] -= min((option_cost(cls, *seat) for seat in seats), default=0)
            cycles = (option_change(cls, *seat).power_cycle for seat in seats)
            found["power_cycles"] -= min(cycles, default=False)
    wishes = {wish.name: wish.classes for task in instance.tasks for wish in task.wishes}
    found["locality"] += POINTS * sum(
        instance.classes[c].count for members in wishes.values() for c in members
    )
    for task in instance.tasks:
        found["room"] += sum(block.worth for block in blocks_of(task.state))
        if task.mix is not None:
            found["room"] += mix_points(task.mix.shapes, left_of(task.state))
        if instance.problem.request.options.hosts_goal == "spread":
            found["hosts"] -= task.state.standing_count**2
        elif task.state.standing_count:
            found["hosts"] -= 1
    return found
