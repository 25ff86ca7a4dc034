from callgraph.world import World


def test_same_named_methods_are_told_apart_by_the_class_of_their_object(world: World) -> None:
    world.write(
        a__py="class Cat:\n    def feed(self): pass\n\nclass Dog:\n    def feed(self): pass\n\n"
        "def morning(cat: Cat):\n    cat.feed()\n\ndef evening():\n    dog = Dog()\n"
        "    dog.feed()\n"
    )
    assert world.callers("Cat.feed") == {"morning": "certain"}
    assert world.callers("Dog.feed") == {"evening": "certain"}


def test_a_bare_name_gives_every_definition_of_it_apart(world: World) -> None:
    world.write(
        a__py="class Cat:\n    def feed(self): pass\n",
        b__py="def feed(): pass\n",
    )
    answer = world.ask("feed")
    assert [chain.place.name for chain in answer.chains] == ["Cat.feed", "feed"]


def test_an_object_of_unknown_class_may_mean_every_method_of_that_name(world: World) -> None:
    world.write(
        a__py="class Cat:\n    def feed(self): pass\n\nclass Dog:\n    def feed(self): pass\n\n"
        "def noon(animal):\n    animal.feed()\n"
    )
    assert world.callers("Cat.feed") == {"noon": "possible"}
    assert world.callees("noon") == {"Cat.feed": "possible", "Dog.feed": "possible"}


def test_the_only_method_of_a_name_is_likely_meant_unless_every_list_has_it(world: World) -> None:
    world.write(
        a__py="class Cat:\n    def purr(self): pass\n    def append(self, x): pass\n\n"
        "def noon(animal):\n    animal.purr()\n    animal.append(1)\n"
    )
    assert world.callees("noon") == {"Cat.purr": "likely", "Cat.append": "possible"}


def test_of_overloads_those_are_meant_that_take_so_many_arguments(world: World) -> None:
    world.write(
        A__java="class A {\n  void f(int a) {}\n  void f(int a, int b) {}\n  void g() { f(1); }\n"
        "  void h() { f(1, 2); }\n}\n"
    )
    one, two = world.ask("A.f", "callers").chains
    assert one.callers is not None
    assert two.callers is not None
    assert [step.place.name for step in one.callers.steps] == ["A.g"]
    assert [step.place.name for step in two.callers.steps] == ["A.h"]


def test_a_generic_function_of_go_is_called_with_its_types_written_out(world: World) -> None:
    world.write(
        a__go="package a\n\nfunc pick[T any](all []T, at int) T { return all[at] }\n\n"
        "func first[T any](all []T) T { return pick[T](all, 0) }\n\n"
        "func use(all []string) string { return first[string](all) }\n"
    )
    assert world.callees("first") == {"pick": "certain"}
    assert world.callees("use") == {"first": "certain"}


def test_an_inherited_method_is_found_in_the_base_and_asked_for_by_the_heir(world: World) -> None:
    world.write(
        base__py="class Base:\n    def run(self): pass\n",
        heir__py="from base import Base\n\nclass Heir(Base):\n    def go(self):\n"
        "        self.run()\n        super().run()\n",
    )
    assert world.callees("Heir.go") == {"Base.run": "certain"}
    assert world.only("Heir.run").place.name == "Base.run"


def test_a_call_through_an_interface_may_reach_each_class_that_has_it(world: World) -> None:
    world.write(
        a__ts="export interface Store { save(x: string): void }\n"
        "export class Disk implements Store { save(x: string) {} }\n"
        "export class Cloud implements Store { save(x: string) {} }\n"
        "export function keep(store: Store) { store.save('x'); }\n"
    )
    assert world.callees("keep") == {
        "Store.save": "certain",
        "Cloud.save": "possible",
        "Disk.save": "possible",
    }


def test_what_is_imported_under_another_name_is_still_called(world: World) -> None:
    world.write(
        a__py="def f(): pass\n",
        b__py="from a import f as g\nimport a as module\n\ndef one():\n    g()\n\n"
        "def two():\n    module.f()\n",
    )
    assert world.callers("f") == {"one": "certain", "two": "certain"}


def test_a_package_passes_on_what_its_modules_define(world: World) -> None:
    world.put("pkg/__init__.py", "from .deep import f\n")
    world.put("pkg/deep.py", "def f(): pass\n")
    world.put("user.py", "import pkg\nfrom pkg import f\n\ndef one():\n    f()\n\n"
              "def two():\n    pkg.f()\n")  # fmt: skip
    world.index()
    assert world.callers("f") == {"one": "certain", "two": "certain"}


def test_an_index_file_and_a_default_export_are_followed(world: World) -> None:
    world.put("lib/deep.js", "export default function helper() {}\nexport function other() {}\n")
    world.put(
        "lib/index.js", "export { default as help } from './deep';\nexport * from './deep';\n"
    )
    world.put(
        "app.js", "import { help, other } from './lib';\nfunction main() { help(); other(); }\n"
    )
    world.index()
    assert world.callees("main") == {"helper": "certain", "other": "certain"}


def test_a_name_from_a_library_is_not_taken_for_ours(world: World) -> None:
    world.write(
        a__py="def join(x): pass\n",
        b__py="from os.path import join\n\ndef f():\n    join('a')\n    print('join')\n",
    )
    assert world.callers("join") == {}
    assert world.callees("f") == {}


def test_whoever_makes_an_object_calls_its_constructor(world: World) -> None:
    world.write(
        a__py="class Cat:\n    def __init__(self):\n        self.wash()\n"
        "    def wash(self): pass\n\n"
        "def adopt():\n    return Cat()\n"
    )
    assert world.callers("Cat.__init__") == {"adopt": "certain"}
    assert world.callers("Cat") == {"adopt": "certain"}
    assert world.callees("Cat") == {"Cat.wash": "certain"}


def test_a_call_outside_of_every_definition_is_the_files(world: World) -> None:
    world.write(a__py="def main(): pass\n\nmain()\n")
    assert world.callers("main") == {"a.py": "certain"}


def test_a_variable_hides_the_function_it_is_named_as(world: World) -> None:
    world.write(a__py="def f(): pass\n", b__py="from a import f\n\ndef g(f2):\n    f2()\n    f()\n")
    assert world.callers("f") == {"g": "certain"}


def test_languages_do_not_call_each_other(world: World) -> None:
    world.write(a__go="package a\n\nfunc build() {}\n", b__c="void f(void) { build(); }\n")
    assert world.callers("build") == {}


def test_names_are_understood_however_they_are_joined(world: World) -> None:
    world.write(a__cpp="namespace n { class A { public: void f() {} }; }\n")
    for written in ("A.f", "A::f", "n::A::f", "n.A.f", "A#f", "A.f()"):
        assert world.only(written).place.name == "n.A.f"
