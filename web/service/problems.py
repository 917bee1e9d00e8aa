"""The problems that submissions may answer: those that the service knows by name, and those that come with a submission."""

import contextlib
import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from evaluator.engine.problem_loader import ProblemReader
from evaluator.judge.timing.protocols import UnknownProtocolError, choose
from evaluator.machine.devices import Device
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.execute import OptionError, ProblemError
from evaluator.problem.kernelbench import inline_name
from evaluator.problem.problem import ProblemFacts
from evaluator.submission.attribution import Catalogue, Claims
from evaluator.submission.source import clean
from web.service.errors import RefusedError
from web.service.models import Options, Submit

MAX_INLINE = 256
"""Maximum problems that came with submissions whose facts are kept in memory."""
SHOWN = 20


@dataclass(frozen=True)
class Inline:
    """A problem that came with a submission."""

    sha256: str
    source: str

    @classmethod
    def of(cls, source: str) -> "Inline":
        """Raises RefusedError if it is not valid text."""
        try:
            text = clean(source)
        except ValueError as error:
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_reference", f"reference: {error}") from error
        return cls(hashlib.sha256(text.encode()).hexdigest(), text)

    @property
    def name(self) -> str:
        """The problem's name in results."""
        return inline_name(self.sha256)


class ServedProblems:
    """All problems of one service. Safe to share between threads. Methods that load a file block."""

    def __init__(self, known: Mapping[str, Path], folder: Path, device: Device) -> None:
        """folder: problems that came with submissions are written there, for the judges to read."""
        self.known = dict(known)
        self._catalogue = Catalogue(self.known)
        self._folder, self._device = folder, device
        self._facts: dict[tuple[str, PrecisionName | None], ProblemFacts] = {}
        self._inline: OrderedDict[tuple[str, PrecisionName | None], ProblemFacts] = OrderedDict()
        self._readers: dict[PrecisionName | None, ProblemReader] = {}
        self._reading = threading.Lock()
        self.all_loaded = False
        """Whether `load_all` has finished."""

    def close(self) -> None:
        """Ends the processes that load problems."""
        with self._reading, contextlib.ExitStack() as stack:
            for reader in self._readers.values():
                stack.push(reader)
            self._readers = {}

    def load_all(self) -> None:
        """Load every problem, so that no request has to wait for it. Requests for a broken problem get its error."""
        for name in self.known:
            try:
                self.facts(name, None)
            except ProblemError:
                continue
        self.all_loaded = True

    def named(self, text: str) -> str:
        """The problem's exact name. Raises RefusedError."""
        name = self._catalogue.named(text)
        if name is not None:
            return name
        near = self._catalogue.nearest(text) or tuple(self.known)[:SHOWN]
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "unknown_problem", f"There is no problem {text!r}; nearest: {', '.join(near)}.")

    def answered(self, submit: Submit) -> str:
        """Name of the problem that a submission answers: given, or found in a header comment or the submission's name.

        Raises RefusedError.
        """
        if submit.problem is not None:
            return self.named(submit.problem)
        texts = (submit.source or submit.response or "",)
        told = self._catalogue.attribute(Claims((), (), Path("/", submit.name or ""), texts))
        if told.problem is None:
            why = told.rejection.message if told.rejection else "nothing says which problem it answers"
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "unknown_problem", f"{why}. Give its name as `problem`.")
        return told.problem

    def loaded(self, name: str) -> ProblemFacts | None:
        """Facts of a problem in its own precision, if it has been loaded."""
        return self._facts.get((name, None))

    def is_ready(self, name: str, options: Options) -> bool:
        """Whether `check` can answer without loading a file."""
        facts = self._facts.get((name, options.precision))
        return facts is not None and (options.case is None or options.case in facts.case_names)

    def facts(self, name: str, precision: PrecisionName | None) -> ProblemFacts:
        """Facts of a known problem. Raises ProblemError."""
        found = self._facts.get((name, precision))
        if found is None:
            if name not in self.known:
                raise ProblemError(Path(f"{name}.py"), None, "the service no longer has this problem")
            with self._reading:
                found = self._facts[name, precision] = self._reader(precision).get(name)
        return found

    def case(self, facts: ProblemFacts, options: Options) -> str:
        """The case that a submission is judged in."""
        return options.case or self.default_case(facts)

    def default_case(self, facts: ProblemFacts) -> str:
        """The case if the request names none."""
        return facts.default_case(self._device.kind)

    def check(self, name: str, options: Options) -> None:
        """Raises RefusedError if a known problem can't be judged with these options."""
        self._check_protocol(options)
        try:
            facts = self.facts(name, options.precision)
        except OptionError as error:
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_option", f"dtype: {error.rule}.") from error
        except ProblemError as error:
            raise _broken("problem", error) from error
        if options.case is None or options.case in facts.case_names:
            return
        try:
            with self._reading:
                self._reader(options.precision).check(name, options.case)
        except ProblemError as error:
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "unknown_case", f"case: {error.rule}.") from error

    def check_inline(self, inline: Inline, options: Options) -> None:
        """Raises RefusedError if a problem that came with a submission can't be judged with these options."""
        self._check_protocol(options)
        try:
            self.inline_facts(inline, options.precision, options.case)
        except ProblemError as error:
            raise _broken("reference", error) from error

    def inline_facts(self, inline: Inline, precision: PrecisionName | None, case: str | None = None) -> ProblemFacts:
        """Facts of a problem that came with a submission. Raises ProblemError."""
        with self._reading:
            found = self._inline.get((inline.sha256, precision))
            if found is None or not found.path.exists() or (case is not None and case not in found.case_names):
                path = self._written(inline)
                # A process of its own for each problem: after loading, it has run that author's code.
                with ProblemReader({inline.name: path}, precision) as reader:
                    found = reader.get(inline.name)
                    if case is not None:
                        reader.check(inline.name, case)
            self._inline[inline.sha256, precision] = found
            self._inline.move_to_end((inline.sha256, precision))
            while len(self._inline) > MAX_INLINE:
                self._inline.popitem(last=False)
        return found

    def _check_protocol(self, options: Options) -> None:
        try:
            choose(options.protocol, self._device.kind)
        except UnknownProtocolError as error:
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_option", f"protocol: {error}.") from error

    def _reader(self, precision: PrecisionName | None) -> ProblemReader:
        if precision not in self._readers:
            self._readers[precision] = ProblemReader(self.known, precision)
        return self._readers[precision]

    def _written(self, inline: Inline) -> Path:
        """The problem's file, written atomically if it does not exist yet."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{inline.name}.py"
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != inline.sha256:
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False, suffix=".part") as file:
                file.write(inline.source.encode())
            os.replace(file.name, path)  # noqa: PTH105 - both are plain names
        return path


def _broken(field: str, error: ProblemError) -> RefusedError:
    """The refusal of a problem whose file is at fault. `field` is the request's."""
    place = f"line {error.line}: " if error.line else ""
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_reference", f"{field}: {place}{error.rule.removesuffix('.')}.")
