import pytest
from codekernel.domain.index import detect_language


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("kernel/codekernel/app.py", "python"),
        ("a.b/c.test.ts", "typescript"),
        ("App.tsx", "tsx"),
        ("App.jsx", "jsx"),
        ("lib/basket.mjs", "javascript"),
        ("src/Basket.java", "java"),
        ("build.gradle.kts", "kotlin"),
        ("main.go", "go"),
        ("lib.rs", "rust"),
        ("curl.h", "c"),
        ("basket.hpp", "cpp"),
        ("Basket.cs", "csharp"),
        ("Gemfile", "ruby"),
        ("index.php", "php"),
        ("Basket.swift", "swift"),
        ("build.sbt", "scala"),
        ("init.lua", "lua"),
        ("install.sh", "bash"),
        ("Main.hs", "haskell"),
        ("mix.exs", "elixir"),
        ("build.zig", "zig"),
        ("schema.sql", "sql"),
        ("index.html", "html"),
        ("style.css", "css"),
        ("package.json", "json"),
        ("ci.yml", "yaml"),
        ("Cargo.lock", "toml"),
        ("App.vue", "vue"),
        ("App.svelte", "svelte"),
        ("README.md", "markdown"),
        ("index.rst", "rst"),
        ("sales.ipynb", "notebook"),
        ("main.dart", "dart"),
        ("model.R", "r"),
        ("solve.jl", "julia"),
        ("mk.pl", "perl"),
        ("shop.proto", "protobuf"),
        ("shop.graphql", "graphql"),
        ("setup.cfg", "ini"),
        ("pom.xml", "xml"),
        ("sales.csv", "csv"),
        ("docker/Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("web.dockerfile", "dockerfile"),
        ("Makefile", "make"),
        ("Makefile.am", "make"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
    ],
)
def test_a_name_tells_the_language(path: str, language: str) -> None:
    assert detect_language(path) == language


def test_case_and_the_other_slash_do_not_matter() -> None:
    assert detect_language("SRC\\MAIN.PY") == "python"
    assert detect_language("src\\Main.Rs") == "rust"


@pytest.mark.parametrize("path", ["", "a/", "LICENSE", "no_idea", "x.unheard", ".py", "a.py/b"])
def test_an_unknown_name_is_text(path: str) -> None:
    assert detect_language(path) == "text"
