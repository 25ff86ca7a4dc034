import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * What javac says of calls: {@code java ... ROOT BELOW COUNT SEED}, JSON lines on stdout.
 *
 * <p>A line is one call, drawn at random: where it is, and what is called: "inside" with path and
 * line, "outside", or "unknown". Classes of libraries that are not here make some calls unknown.
 */
class CallchainJavaReference {
  private record Site(TreePath path, Tree name, String called, long at) {}

  public static void main(String[] arguments) throws IOException {
    Path root = Path.of(arguments[0]).toRealPath();
    List<Path> files = new ArrayList<>();
    try (var walk = Files.walk(root.resolve(arguments[1]))) {
      walk.filter(file -> file.toString().endsWith(".java")).sorted().forEach(files::add);
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
    var options = List.of("-proc:none", "-Xmaxerrs", "1000000", "-nowarn", "--release", "17");
    JavacTask task =
        (JavacTask)
            compiler.getTask(
                null, manager, found -> {}, options, null, manager.getJavaFileObjectsFromPaths(files));
    Trees trees = Trees.instance(task);
    List<Site> sites = new ArrayList<>();
    List<CompilationUnitTree> units = new ArrayList<>();
    task.parse().forEach(units::add);
    try {
      task.analyze();
    } catch (RuntimeException broken) {
      System.err.println("javac gave up in the middle: " + broken);
    }
    for (CompilationUnitTree unit : units) {
      collect(unit, trees, sites);
    }
    Collections.shuffle(sites, new Random(Long.parseLong(arguments[3])));
    for (Site site : sites.subList(0, Math.min(sites.size(), Integer.parseInt(arguments[2])))) {
      System.out.println(said(site, trees, root));
    }
  }

  private static void collect(CompilationUnitTree unit, Trees trees, List<Site> sites) {
    new TreePathScanner<Void, Void>() {
      @Override
      public Void visitMethodInvocation(MethodInvocationTree node, Void nothing) {
        Tree called = node.getMethodSelect();
        String name =
            called instanceof IdentifierTree plain
                ? plain.getName().toString()
                : ((MemberSelectTree) called).getIdentifier().toString();
        if (!name.equals("super") && !name.equals("this")) {
          long end = trees.getSourcePositions().getEndPosition(unit, called);
          sites.add(new Site(new TreePath(getCurrentPath(), called), called, name, end - 1));
        }
        return super.visitMethodInvocation(node, nothing);
      }

      @Override
      public Void visitNewClass(NewClassTree node, Void nothing) {
        String[] words = node.getIdentifier().toString().replaceAll("<.*", "").split("\\.");
        long end = trees.getSourcePositions().getEndPosition(unit, node.getIdentifier());
        // Of an anonymous class the one it extends is called; a constant of an enum calls nobody.
        TreePath called =
            node.getClassBody() == null
                ? getCurrentPath()
                : new TreePath(getCurrentPath(), node.getIdentifier());
        if (end > 0) sites.add(new Site(called, node, words[words.length - 1], end - 1));
        return super.visitNewClass(node, nothing);
      }
    }.scan(unit, null);
  }

  private static String said(Site site, Trees trees, Path root) {
    CompilationUnitTree unit = site.path().getCompilationUnit();
    String where = relative(unit, root);
    long line = unit.getLineMap().getLineNumber(site.at());
    String begin =
        "{\"path\": \"%s\", \"line\": %d, \"name\": \"%s\", ".formatted(where, line, site.called());
    Element called = trees.getElement(site.path());
    if (called == null || called.asType().getKind().name().equals("ERROR")) {
      return begin + "\"said\": \"unknown\", \"targets\": []}";
    }
    List<String> targets = new ArrayList<>();
    List<Element> meant = new ArrayList<>(List.of(called));
    if (called.getKind() == ElementKind.CONSTRUCTOR) {
      meant.add(called.getEnclosingElement()); // a class without a constructor of its own
    }
    for (Element each : meant) {
      TreePath declared = trees.getPath(each);
      if (declared == null) continue;
      CompilationUnitTree home = declared.getCompilationUnit();
      long from = trees.getSourcePositions().getStartPosition(home, declared.getLeaf());
      if (from < 0) continue;
      targets.add("[\"%s\", %d]".formatted(relative(home, root), home.getLineMap().getLineNumber(from)));
    }
    String kind = targets.isEmpty() ? "outside" : "inside";
    return begin + "\"said\": \"" + kind + "\", \"targets\": [" + String.join(", ", targets) + "]}";
  }

  private static String relative(CompilationUnitTree unit, Path root) {
    return root.relativize(Path.of(unit.getSourceFile().toUri())).toString().replace('\\', '/');
  }
}
