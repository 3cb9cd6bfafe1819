"""The doors: apply a plan, go on with one, take one back, or only look whether it could be applied."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from vplacer.apply.calls import Move
from vplacer.apply.clock import Clock
from vplacer.apply.consent import demand_consents, missing_consents
from vplacer.apply.events import Listener, Severity, ignore
from vplacer.apply.executor import Executor
from vplacer.apply.finish import finish
from vplacer.apply.inverse import inverse_step
from vplacer.apply.journal import Journal, demand_new, plan_path
from vplacer.apply.lock import apply_lock
from vplacer.apply.options import ApplyOptions
from vplacer.apply.outcome import Outcome, ProblemKind, Status
from vplacer.apply.preflight import Preflight, demand_clear, inspect, owned_vms
from vplacer.apply.records import Began, JournalState, Kept, Noted, Opened
from vplacer.apply.rollback_plan import RollbackPlan, rollback_plan
from vplacer.apply.schedule import Progress, Schedule
from vplacer.apply.since import expected_facts, moved_since
from vplacer.apply.stop import Stop
from vplacer.apply.tell import Teller
from vplacer.apply.units import Units, apart_groups, make_units
from vplacer.apply.verify import verify_places
from vplacer.apply.world import Unreachable, World
from vplacer.errors import RequestError
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.model import Plan, Step
from vplacer.plan.plan_file import plan_document
from vplacer.plan.staleness import StaleField
from vplacer.port import Port


def plan_sha256(plan: Plan) -> str:
    """Return the hash that a plan file bears."""
    return str(plan_document(plan)["sha256"])


def operation_prefix(plan: Plan) -> str:
    """Return how the operation ids of a plan begin: ``vplacer-`` and the first of its hash."""
    return _prefix(plan_sha256(plan))


def _prefix(sha256: str) -> str:
    return f"vplacer-{sha256[:8]}"


def check_only(
    plan: Plan, port: Port, options: ApplyOptions, clock: Clock, listener: Listener = ignore
) -> Preflight:
    """Say whether a plan could be applied now. Reads only.

    Raises:
        RequestError: the plan is only to be looked at.
        VSphereError: the vCenter cannot be read.
    """
    tell = Teller(plan, clock, listener, len(plan.steps))
    with _reached():
        return inspect(plan, World(port, clock, options.timing, tell.warn), options)


def apply_plan(
    plan: Plan,
    port: Port,
    options: ApplyOptions,
    journal: Path | None,
    clock: Clock,
    listener: Listener = ignore,
    stop: Stop | None = None,
    *,
    overlays: Sequence[Overlay] = (),
    tool_version: str = "",
    lock_folder: Path | None = None,
    confirm: Callable[[Preflight], bool] | None = None,
) -> Outcome:
    """Carry a plan out.

    Args:
        journal: where the journal is made; nothing may be there. None = nowhere, for a rehearsal at a
            simulated vCenter: then no lock is held either, and no file is written.
        overlays: what is known of the hosts besides, for the verification of places.
        confirm: asked after all checks and before the first change; False = nothing is done.
        lock_folder: where lock files are; None = the machine's temporary folder.

    Raises:
        RequestError: the plan is only to be looked at, it has a journal already, a consent is missing.
        StaleError: what it was decided on has moved, a VM is somebody else's, another apply is under way.
        VSphereError: the vCenter cannot be read, or would refuse a step. Nothing was changed.
        OutputError: the journal cannot be made.
    """
    with _apply_lock(plan, journal, lock_folder):
        tell = Teller(plan, clock, listener, len(plan.steps))
        world = World(port, clock, options.timing, tell.warn)
        if journal is not None:
            demand_new(journal)
        with _reached():
            found = inspect(plan, world, options)
        demand_clear(plan, found)
        tell.words.learn(found.inventory)
        if confirm is not None and not confirm(found):
            return Outcome(Status.REFUSED, (), (), (), False, (), None, 0.0)
        opened = _opened(plan, journal, tool_version)
        made = Journal.create(journal, opened) if journal is not None else Journal.in_memory(opened)
        with contextlib.closing(made):
            made.write(Began(clock.now().isoformat(), "apply"))
            _note_preflight(made, tell, found)
            run = _Run(plan, world, made, options, tell, stop or Stop(), found.inventory)
            return run.forth(found.inventory, (), overlays)


def resume(
    plan: Plan,
    port: Port,
    options: ApplyOptions,
    journal: Path,
    clock: Clock,
    listener: Listener = ignore,
    stop: Stop | None = None,
    *,
    overlays: Sequence[Overlay] = (),
    lock_folder: Path | None = None,
) -> Outcome:
    """Go on with a plan whose apply or rollback stopped or was killed: look first, then finish.

    Raises:
        UnknownObjectError: there is no journal.
        FileFormatError: it is damaged.
        RequestError: it is of another plan, or a consent is missing.
        StaleError: another apply is under way.
        VSphereError: the vCenter cannot be read.
    """
    with _reopened(plan, journal, "resume", lock_folder) as made:
        if made.state.rolls_back:
            return _roll_back(plan, port, options, made, clock, listener, stop or Stop())
        run, inventory = _taken_up(
            plan, plan.steps, port, options, made, clock, listener, stop or Stop(), "resume"
        )
        return run.forth(inventory, moved_since(plan, inventory, made.state), overlays)


def preview_rollback(plan: Plan, journal: JournalState) -> RollbackPlan:
    """Return what `roll_back` would do, to be shown before."""
    return rollback_plan(plan, journal)


def roll_back(
    plan: Plan,
    port: Port,
    options: ApplyOptions,
    journal: Path,
    clock: Clock,
    listener: Listener = ignore,
    stop: Stop | None = None,
    *,
    lock_folder: Path | None = None,
) -> Outcome:
    """Take back what the journal says was carried out, as far as it still is as vplacer wrote it.

    Errors as `resume`.
    """
    with _reopened(plan, journal, "rollback", lock_folder) as made:
        return _roll_back(plan, port, options, made, clock, listener, stop or Stop())


def _roll_back(
    plan: Plan,
    port: Port,
    options: ApplyOptions,
    journal: Journal,
    clock: Clock,
    listener: Listener,
    stop: Stop,
) -> Outcome:
    steps = rollback_plan(plan, journal.state).steps
    run, inventory = _taken_up(plan, steps, port, options, journal, clock, listener, stop, "rollback")
    return run.back(inventory)


@contextlib.contextmanager
def _reopened(plan: Plan, journal: Path, what: str, lock_folder: Path | None) -> Iterator[Journal]:
    """Open the journal of an earlier process, with the lock held. ``what`` is done now, in a word."""
    who = f"{what} of {journal.name}"
    with (
        apply_lock(plan.source.instance_uuid, plan.source.vcenter, who, lock_folder),
        contextlib.closing(Journal.reopen(journal)) as made,
    ):
        _demand_same_plan(plan, made.state, journal)
        yield made


def _taken_up(
    plan: Plan,
    steps: Sequence[Step],
    port: Port,
    options: ApplyOptions,
    journal: Journal,
    clock: Clock,
    listener: Listener,
    stop: Stop,
    mode: str,
) -> tuple[_Run, Inventory]:
    """Look at the world, ask for the consents that steps need, and note that a process goes on."""
    tell = Teller(plan, clock, listener, len(steps))
    world = World(port, clock, options.timing, tell.warn)
    world.made.update(journal.state.made)
    with _reached():
        inventory = world.inventory()
    tell.words.learn(inventory)
    _demand_consents(plan, steps, options, clock)
    journal.write(Began(clock.now().isoformat(), mode))
    return _Run(plan, world, journal, options, tell, stop, inventory), inventory


class _Run:
    """One process's work on a plan, from the journal as it is to an outcome."""

    def __init__(
        self,
        plan: Plan,
        world: World,
        journal: Journal,
        options: ApplyOptions,
        tell: Teller,
        stop: Stop,
        inventory: Inventory,
    ) -> None:
        self.plan = plan
        self.world = world
        self.journal = journal
        self.options = options
        self.tell = tell
        self.stop = stop
        self.groups = apart_groups(plan, inventory)

    def forth(
        self, inventory: Inventory, moved: Sequence[StaleField], overlays: Sequence[Overlay]
    ) -> Outcome:
        """Carry out what is not done yet. ``moved``: why no VM may begin that has not begun."""
        executor = self._executor(self.plan.steps, inventory, rolls_back=False)
        self.tell.planned(step for step in self.plan.steps if not self.journal.state.is_done(step.id))
        for item in moved:
            what = f"the plan is stale: {self.tell.words.stale(item)}"
            executor.halt(
                ProblemKind.DRIFTED, what, hint="take it back with `vplacer rollback`, or plan again"
            )
        for vm, why in self._owned(inventory):
            executor.halt(ProblemKind.DRIFTED, f"it must not be touched any more: {why}", vm=vm)
        executor.run(self._open_moves())
        if executor.switched_on:
            with contextlib.suppress(Unreachable):
                verify_places(self.plan, self.world, self.tell, executor.switched_on, inventory, overlays)
        return self._finish(executor, rolls_back=False)

    def back(self, inventory: Inventory) -> Outcome:
        """Let calls end that are under way, then take back what was carried out."""
        settling = self._executor(self.plan.steps, inventory, rolls_back=False)
        settling.settle(self._open_moves())
        if settling.calls or settling.unreached:
            return self._finish(settling, rolls_back=True)
        what = rollback_plan(self.plan, self.journal.state)
        for item in what.stays:
            kind = ProblemKind.IRREVERSIBLE if item.irreversible else ProblemKind.KEPT
            self.journal.write(Kept(item.step, item.why))
            self.tell.trouble(kind, item.why, vm=item.vm, step=item.step if item.irreversible else None)
        self.tell.total = len(what.steps)
        executor = self._executor(what.steps, inventory, rolls_back=True)
        self.tell.planned(what.steps, undo=True)
        executor.run()
        return self._finish(executor, rolls_back=True)

    def _executor(self, steps: Sequence[Step], inventory: Inventory, *, rolls_back: bool) -> Executor:
        state = self.journal.state
        hosts = {vm.moid: vm.host for vm in inventory.vms if vm.host is not None}
        hosts |= {vm: hosts[moid] for vm, moid in state.made.items() if moid in hosts}
        units: Units = make_units(steps, self.groups, hosts)
        done = set() if rolls_back else {step.id for step in steps if state.is_done(step.id)}
        self.tell.done = len(done)
        floating = frozenset(
            item.vm or item.demand
            for item in self.plan.vms
            if not item.nodes and _node_count(inventory, item.host_after) != 1
        )
        schedule = Schedule(units, self.options, floating, Progress(done=done))
        expected = {} if rolls_back else expected_facts(self.plan, inventory, state)
        return Executor(
            self.world,
            self.journal,
            schedule,
            self.options,
            self.tell,
            self.stop,
            expected,
            operation=state.opened.operation if state.opened is not None else operation_prefix(self.plan),
            rolls_back=rolls_back,
        )

    def _open_moves(self) -> list[Move]:
        """Return the calls of an earlier process whose end is not known."""
        moves = []
        for name, attempt in self.journal.state.open_calls():
            step = self.plan.step_by_id[name]
            if not attempt.intent.undo:
                moves.append(Move(step))
            elif (back := inverse_step(step)) is not None:
                moves.append(Move(back, undo=True, restoring=True))
        return moves

    def _owned(self, inventory: Inventory) -> Iterable[tuple[str, str]]:
        begun = {step.vm for step in self.plan.steps if self.journal.state.log(step.id).attempts}
        fresh = [step for step in self.plan.steps if step.vm not in begun]
        return owned_vms(fresh, inventory, self.options)

    def _finish(self, executor: Executor, *, rolls_back: bool) -> Outcome:
        return finish(self.plan, self.world, self.journal, self.tell, executor.failed, rolls_back=rolls_back)


def _apply_lock(
    plan: Plan, journal: Path | None, folder: Path | None
) -> contextlib.AbstractContextManager[None]:
    if journal is None:
        return contextlib.nullcontext()
    return apply_lock(plan.source.instance_uuid, plan.source.vcenter, f"apply of {journal.name}", folder)


def _opened(plan: Plan, journal: Path | None, tool_version: str) -> Opened:
    # Without a journal nobody asks later whether this was the same plan, and hashing a large one takes long.
    sha256 = plan_sha256(plan) if journal is not None else ""
    return Opened(
        plan_sha256=sha256,
        plan=plan_path(journal).name if journal is not None else "",
        vcenter=plan.source.vcenter,
        instance_uuid=plan.source.instance_uuid,
        tool_version=tool_version or plan.tool_version,
        operation=_prefix(sha256) if sha256 else "vplacer-rehearsal",
        steps=len(plan.steps),
    )


def _note_preflight(journal: Journal, tell: Teller, found: Preflight) -> None:
    """Show and record what the checks said that stops nothing."""
    notes = [("adopted", text, Severity.INFO) for text in found.adopted]
    for item in found.checked:
        when = "as it is today, " if item.of_today else ""
        what = tell.words.step(tell.plan.step_by_id[item.step])
        text = f"{what}: {when}the server says {item.finding.fault}: {item.finding.message}"
        notes.append(("check", text, Severity.WARNING))
    for code, text, severity in notes:
        journal.write(Noted(code, text, tell.clock.now().isoformat()))
        tell.note(code, text, severity)


def _demand_same_plan(plan: Plan, state: JournalState, path: Path) -> None:
    opened = state.opened
    if opened is None or opened.plan_sha256 != plan_sha256(plan):
        raise RequestError(
            "the journal is of another plan",
            obj=str(path),
            why=f"it is of {opened.plan}, hash {opened.plan_sha256[:8]}" if opened else None,
            hint="give the plan file that was applied",
        )


def _demand_consents(plan: Plan, steps: Sequence[Step], options: ApplyOptions, clock: Clock) -> None:
    """Ask for the consents of work that has begun. Out of the window it may still be brought to an end."""
    demand_consents(missing_consents(plan, steps, replace(options, window=None), clock.now()))


def _node_count(inventory: Inventory, host: str) -> int:
    found = inventory.host_by_moid.get(host)
    return len(found.numa_nodes) if found is not None else 0


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Turn a vCenter that does not answer before the first change into the error it is."""
    try:
        yield
    except Unreachable as error:
        raise error.cause from None
