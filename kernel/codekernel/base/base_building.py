"""Build a base: parts -> repositories -> one commit -> indexes -> a published tag.

What was built stays in the store, so that a build that was killed goes on, and the next one has
to do only what has changed. A repository that fails twice keeps what the base had of it.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from codekernel.base.base_place import BasePlace, require_conditional_writes
from codekernel.base.build_engines import BuildEngine
from codekernel.base.manifest import (
    BaseManifest,
    BaseRepository,
    decode_manifest,
    encode_manifest,
    name_manifest,
    parse_repository,
)
from codekernel.base.part_building import (
    FILE_COLUMNS,
    FILES_SUFFIX,
    ROWS_SUFFIX,
    TERMS_SUFFIX,
    PartJob,
)
from codekernel.base.sources import BaseSource, SourcePart, export_source, split_source
from codekernel.base.term_statistics import (
    add_statistics,
    make_term_columns,
    parse_term_columns,
)
from codekernel.domain.settings import Performance, RemoteModel
from codekernel.errors import KernelError, StorageError
from codekernel.indexing.index_plan import IndexPlan
from codekernel.inference.model_folder import read_model_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.packs.commits import find_root_commits
from codekernel.sharing.object_store import ObjectMissing, StoredObject
from codekernel.storage.base.base_rows import (
    decode_batches,
    decode_columns,
    encode_columns,
    make_schema,
)
from codekernel.storage.base.base_table import BaseTableError, BaseTableWriter
from codekernel.storage.lexical_documents import ANALYZER_NAME

logger = logging.getLogger(__name__)

ANALYSIS = f"1.{ANALYZER_NAME}"

# A repository that fails is tried once more, after all others.
TRIES = 2

# What no build needs any more is deleted when nobody can be about to need it again.
MAX_UNUSED_DAYS = 7.0

_DAY_SECONDS = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is; ``step`` is for a person."""

    step: str
    repositories: int = 0
    total: int = 0
    parts: int = 0


@dataclass(frozen=True, slots=True)
class BuiltBase:
    """What was published; ``problems`` by repository, ``seconds`` by step."""

    version: int
    manifest: BaseManifest
    parts_built: int
    problems: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaseModel:
    """The embedding model of a base."""

    folder: Path
    fingerprint: str
    dimensions: int
    max_chunk_chars: int

    @property
    def profile(self) -> str:
        """What is the same for rows that may be in one table."""
        return f"{ANALYSIS} {self.fingerprint} {self.max_chunk_chars}"


def select_base_model(plan: IndexPlan, pool: ModelPool) -> BaseModel:
    """Return the first selected model on this machine. Raises StorageError, InvalidModel."""
    for config in plan.configs:
        if not isinstance(config.model, RemoteModel):
            folder = read_model_folder(config.model)
            with pool.acquire_embedder(config.model, plan.performance) as embedder:
                dimensions = embedder.dimensions
            return BaseModel(config.model, folder.fingerprint, dimensions, config.max_chunk_chars)
    raise StorageError("a base needs an embedding model on this machine, and none is selected")


@dataclass(slots=True)
class _RepositoryBuild:
    """A repository whose parts are being built."""

    source: BaseSource
    parts: list[SourcePart]
    missing: set[str]
    exported: ExitStack
    error: str = ""


class BaseBuilder:
    """Builds one base, once; the caller closes the engine."""

    def __init__(
        self,
        place: BasePlace,
        model: BaseModel,
        performance: Performance,
        engine: BuildEngine,
        report: Callable[[BuildProgress], None] = lambda _: None,
    ) -> None:
        self._place, self._store = place, place.store
        self._model, self._performance = model, performance
        self._engine, self._report = engine, report
        self._stored: set[str] = set()
        self._finished: dict[str, BaseRepository] = {}
        self._problems: dict[str, str] = {}
        self._parts_built = 0
        self._total = 0
        self.seconds: dict[str, float] = {}

    def build(self, sources: Sequence[BaseSource]) -> BuiltBase:
        """Build, and publish. Raises KernelError: StoreUnsafe if the store would lose rows."""
        require_conditional_writes(self._store)
        began = time.monotonic()
        listed = self._store.list_objects(self._place.folder)
        self._stored = {each.name for each in listed}
        self._total = len(sources)
        for _ in range(TRIES):
            self._build_repositories([it for it in sources if it.label not in self._finished])
        self.seconds["parts"] = time.monotonic() - began
        writer = BaseTableWriter(self._place.table)
        self._keep_earlier(writer)
        if not self._finished:
            raise StorageError("nothing can be published: no repository could be indexed")
        manifest = BaseManifest(
            ANALYSIS,
            self._model.fingerprint,
            self._model.dimensions,
            self._model.max_chunk_chars,
            time.time(),
            tuple(self._finished[label] for label in sorted(self._finished)),
        )
        kept = self._publish(writer, manifest)
        self._delete_unused(listed, kept)
        return BuiltBase(
            kept[0], manifest, self._parts_built, dict(self._problems), dict(self.seconds)
        )

    def _build_repositories(self, sources: Sequence[BaseSource]) -> None:
        builds: dict[str, _RepositoryBuild] = {}
        for outcome in self._engine.run(self._iterate_jobs(sources, builds)):
            build = builds[outcome.job.repo]
            build.missing.discard(outcome.job.name)
            build.error = build.error or outcome.error
            if not outcome.error:
                self._parts_built += 1
                self._stored.add(outcome.job.name + ROWS_SUFFIX)
            if not build.missing:
                self._finish(build)

    def _iterate_jobs(
        self, sources: Sequence[BaseSource], builds: dict[str, _RepositoryBuild]
    ) -> Iterator[PartJob]:
        """Yield the parts that the store does not have, one repository after another."""
        for source in sources:
            if self._find_record(source):
                continue
            exported = ExitStack()
            try:
                top = exported.enter_context(export_source(source))
                parts = split_source(source, top, self._model.profile)
            except (KernelError, OSError) as error:
                exported.close()
                self._problems[source.label] = str(error)
                continue
            names = {self._name_part(part): part for part in parts}
            missing = {name for name in names if name + ROWS_SUFFIX not in self._stored}
            build = _RepositoryBuild(source, parts, missing, exported)
            builds[source.label] = build
            if not missing:
                self._finish(build)
            for name in sorted(missing):
                yield PartJob(
                    source.label,
                    top,
                    names[name].files,
                    name,
                    self._store.place,
                    self._model.folder,
                    self._performance,
                    self._model.max_chunk_chars,
                )

    def _finish(self, build: _RepositoryBuild) -> None:
        """Make one list of the files and terms of all parts, and note that it is complete."""
        build.exported.close()
        label = build.source.label
        try:
            if build.error:
                raise StorageError(build.error)
            record = self._join_parts(build)
        except KernelError as error:
            self._problems[label] = str(error)
            return
        self._problems.pop(label, None)
        self._finished[label] = record
        self._tell("indexing")

    def _join_parts(self, build: _RepositoryBuild) -> BaseRepository:
        names = [self._name_part(part) for part in build.parts]
        lists = [decode_columns(self._store.read(name + FILES_SUFFIX)) for name in names]
        files: dict[str, list[Any]] = {
            column: [value for each in lists for value in each.get(column, ())]
            for column in FILE_COLUMNS
        }
        chunks = sum(files[FILE_COLUMNS[-1]])
        terms = add_statistics(
            [
                parse_term_columns(decode_columns(self._store.read(name + TERMS_SUFFIX)), 0)
                for name in names
            ]
        )
        source = build.source
        key = source.make_key(self._model.profile) or "-".join(names)[-32:]
        stem = f"{self._place.folder}repositories/{source.label}-{key}"
        self._store.write(stem + FILES_SUFFIX, encode_columns(files))
        self._store.write(stem + TERMS_SUFFIX, encode_columns(make_term_columns(terms)))
        record = BaseRepository(
            source.label,
            source.commit.commit if source.commit else "",
            find_root_commits(source.root) if source.commit else (),
            source.commit.prefix if source.commit else "",
            len(files[FILE_COLUMNS[0]]),
            chunks,
            stem + FILES_SUFFIX,
            stem + TERMS_SUFFIX,
            tuple(name + ROWS_SUFFIX for name in names),
        )
        if source.commit:
            self._store.write(f"{stem}.json", json.dumps(asdict(record)).encode())
        return record

    def _find_record(self, source: BaseSource) -> bool:
        """Take what an earlier build has made of the same commit, if all of it is there."""
        key = source.make_key(self._model.profile)
        name = f"{self._place.folder}repositories/{source.label}-{key}.json"
        if not key or name not in self._stored:
            return False
        try:
            record = parse_repository(json.loads(self._store.read(name)))
        except (ObjectMissing, ValueError, TypeError, KeyError):
            return False
        if not self._stored.issuperset((record.file_list, record.terms, *record.parts)):
            return False
        self._finished[source.label] = record
        self._tell("indexing")
        return True

    def _keep_earlier(self, writer: BaseTableWriter) -> None:
        """Let a repository that cannot be indexed now keep what the base has of it."""
        version = writer.find_published() if self._problems else None
        if version is None:
            return
        name = name_manifest(self._place.folder, version)
        with suppress(StorageError):
            earlier = decode_manifest(self._store.read(name))
            for label in self._problems:
                record = earlier.find(label)
                if record and earlier.model == self._model.fingerprint:
                    self._finished[label] = record

    def _publish(self, writer: BaseTableWriter, manifest: BaseManifest) -> list[int]:
        self._tell("one commit")
        began = time.monotonic()
        reader = _PartReader(self._place, manifest)
        try:
            writer.fill(make_schema(manifest.dimensions), reader.iterate_batches())
        except BaseTableError:
            reader.raise_for_damage()
            raise
        if writer.count_rows() != manifest.chunks:
            raise StorageError(
                f"the table has {writer.count_rows()} rows, the parts {manifest.chunks}: somebody"
                " else builds the same base. Nothing was published"
            )
        self.seconds["commit"] = time.monotonic() - began

        for column in writer.list_index_columns():
            step = f"index of {column}"
            self._tell(step)
            began = time.monotonic()
            writer.build_index(column)
            self.seconds[step] = time.monotonic() - began
        writer.require_complete_indexes()
        self._store.write(
            name_manifest(self._place.folder, writer.version), encode_manifest(manifest)
        )
        kept = writer.publish()
        writer.clean(kept)
        return kept

    def _delete_unused(self, listed: Sequence[StoredObject], kept: Sequence[int]) -> None:
        """Delete what only builds need that are gone; what fails stays until the next build."""
        folder = self._place.folder
        names = [name_manifest(folder, version) for version in kept]
        try:
            manifests = [decode_manifest(self._store.read(name)) for name in names]
        except StorageError as error:
            logger.warning("unused parts of the base stay: %s", error)
            return
        used = {*names, *(name for each in manifests for name in each.list_objects())}
        stems = {name.rpartition(".")[0] for name in used}
        oldest = time.time() - MAX_UNUSED_DAYS * _DAY_SECONDS
        for each in listed:
            is_ours = each.name.removeprefix(folder).startswith(
                ("parts/", "repositories/", "manifests/")
            )
            if is_ours and each.modified_at < oldest and each.name.rpartition(".")[0] not in stems:
                with suppress(StorageError):
                    self._store.delete(each.name)

    def _name_part(self, part: SourcePart) -> str:
        return f"{self._place.folder}parts/{part.name}"

    def _tell(self, step: str) -> None:
        done = len(self._finished)
        self._report(BuildProgress(step, done, self._total, self._parts_built))


class _PartReader:
    """Reads the parts of a build in order; remembers why it could not, which LanceDB does not."""

    def __init__(self, place: BasePlace, manifest: BaseManifest) -> None:
        self._place, self._manifest = place, manifest
        self._damage: KernelError | None = None

    def iterate_batches(self) -> Iterator[Any]:
        """Yield all rows, repository by repository."""
        for repository in self._manifest.repositories:
            for name in repository.parts:
                try:
                    yield from decode_batches(self._place.store.read(name))
                except KernelError as error:
                    self._damage = StorageError(f"a part of {repository.label}: {error}")
                    with suppress(StorageError):  # the next build makes it anew
                        self._place.store.delete(name)
                    raise

    def raise_for_damage(self) -> None:
        """Raise what reading has met."""
        if self._damage:
            raise self._damage
