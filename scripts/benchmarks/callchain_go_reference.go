// What go/types says of calls in Go: "go run callchain_go_reference.go ROOT BELOW COUNT SEED", JSON
// lines on stdout.
//
// Packages of the project and of the standard library are type-checked from source; modules of
// others are not there, so what hangs on their types is unknown. A call of an interface's method
// means the method in the interface, or any method of the project that implements it. Calls of
// values, such as callbacks, are unknown; conversions are no calls.
package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

type place struct {
	path string
	line int
}

type site struct {
	ident *ast.Ident
	info  *types.Info
}

// project type-checks its own packages when they are first imported.
type project struct {
	root, module string
	fset         *token.FileSet
	standard     types.Importer
	packages     map[string]*types.Package
	infos        map[string]*types.Info
	files        map[string][]*ast.File
}

func main() {
	root, _ := filepath.EvalSymlinks(os.Args[1])
	below := filepath.Join(root, os.Args[2])
	count, _ := strconv.Atoi(os.Args[3])
	seed, _ := strconv.ParseInt(os.Args[4], 10, 64)
	fset := token.NewFileSet()
	it := &project{
		root: root, module: moduleOf(root), fset: fset,
		standard: importer.ForCompiler(fset, "source", nil),
		packages: map[string]*types.Package{}, infos: map[string]*types.Info{},
		files: map[string][]*ast.File{},
	}
	var sites []site
	for _, folder := range folders(below) {
		relative, _ := filepath.Rel(root, folder)
		name := strings.TrimSuffix(it.module+"/"+filepath.ToSlash(relative), "/.")
		if _, err := it.Import(name); err != nil {
			continue
		}
		for _, file := range it.files[name] {
			sites = append(sites, calls(file, it.infos[name])...)
		}
	}
	rand.New(rand.NewSource(seed)).Shuffle(len(sites), func(i, j int) {
		sites[i], sites[j] = sites[j], sites[i]
	})
	out := json.NewEncoder(os.Stdout)
	for _, one := range sites[:min(count, len(sites))] {
		said, targets := it.said(one)
		here := it.place(one.ident.Pos())
		_ = out.Encode(map[string]any{
			"path": here.path, "line": here.line, "name": one.ident.Name,
			"said": said, "targets": targets,
		})
	}
}

// Import is what go/types asks for each import; it never fails for packages of the project.
func (it *project) Import(name string) (*types.Package, error) {
	if name != it.module && !strings.HasPrefix(name, it.module+"/") {
		if strings.Contains(strings.Split(name, "/")[0], ".") {
			return nil, errors.New("a module of others")
		}
		return it.standard.Import(name)
	}
	if done, ok := it.packages[name]; ok {
		return done, nil
	}
	folder := filepath.Join(it.root, strings.TrimPrefix(name, it.module))
	found, err := build.Default.ImportDir(folder, 0)
	if err != nil {
		return nil, err
	}
	for _, file := range found.GoFiles {
		parsed, err := parser.ParseFile(it.fset, filepath.Join(folder, file), nil, 0)
		if err == nil {
			it.files[name] = append(it.files[name], parsed)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: it, Error: func(error) {}, FakeImportC: true}
	checked, _ := config.Check(name, it.fset, it.files[name], info)
	it.packages[name], it.infos[name] = checked, info
	return checked, nil
}

// said tells where a call leads: inside, outside, or nobody knows.
func (it *project) said(one site) (string, [][]any) {
	switch called := one.info.Uses[one.ident].(type) {
	case *types.Builtin:
		return "outside", [][]any{}
	case *types.Func:
		called = called.Origin()
		if !called.Pos().IsValid() || !strings.HasPrefix(it.file(called.Pos()), it.root+"/") {
			return "outside", [][]any{}
		}
		targets := [][]any{it.target(called)}
		for _, method := range it.implementations(called) {
			targets = append(targets, it.target(method))
		}
		return "inside", targets
	}
	return "unknown", [][]any{}
}

func (it *project) target(called *types.Func) []any {
	here := it.place(called.Pos())
	return []any{here.path, here.line}
}

// implementations are the methods of the project that may be meant by one of an interface.
func (it *project) implementations(called *types.Func) []*types.Func {
	receiver := called.Type().(*types.Signature).Recv()
	if receiver == nil || !types.IsInterface(receiver.Type()) {
		return nil
	}
	wanted, _ := receiver.Type().Underlying().(*types.Interface)
	var found []*types.Func
	for _, one := range it.packages {
		for _, name := range one.Scope().Names() {
			named, ok := one.Scope().Lookup(name).(*types.TypeName)
			if !ok || types.IsInterface(named.Type()) {
				continue
			}
			pointer := types.NewPointer(named.Type())
			if !types.Implements(pointer, wanted) {
				continue
			}
			method, _, _ := types.LookupFieldOrMethod(pointer, true, one, called.Name())
			if function, ok := method.(*types.Func); ok {
				found = append(found, function.Origin())
			}
		}
	}
	return found
}

func (it *project) file(position token.Pos) string { return it.fset.Position(position).Filename }

func (it *project) place(position token.Pos) place {
	found := it.fset.Position(position)
	relative, _ := filepath.Rel(it.root, found.Filename)
	return place{filepath.ToSlash(relative), found.Line}
}

// calls are the names that are called in a file; conversions are left out.
func calls(file *ast.File, info *types.Info) []site {
	var found []site
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if ident := called(call.Fun); ident != nil {
			if _, isType := info.Uses[ident].(*types.TypeName); !isType {
				found = append(found, site{ident, info})
			}
		}
		return true
	})
	return found
}

func called(expression ast.Expr) *ast.Ident {
	switch one := expression.(type) {
	case *ast.Ident:
		return one
	case *ast.SelectorExpr:
		return one.Sel
	case *ast.ParenExpr:
		return called(one.X)
	case *ast.IndexExpr:
		return called(one.X)
	case *ast.IndexListExpr:
		return called(one.X)
	}
	return nil
}

func folders(below string) []string {
	var found []string
	_ = filepath.WalkDir(below, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		name := entry.Name()
		if path != below && (strings.HasPrefix(name, ".") || name == "vendor" || name == "testdata") {
			return filepath.SkipDir
		}
		found = append(found, path)
		return nil
	})
	sort.Strings(found)
	return found
}

func moduleOf(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, "go.mod"))
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return "project"
}
