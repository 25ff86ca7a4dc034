"""A small program in each language: the same calls, as that language writes them.

In each, ``Shop.sell`` calls ``Shop.price`` of its own class, ``Stock.take`` of a field,
``Bill.send`` of an object it makes, and the function ``tax`` of another file; ``tax`` calls
``rate``, which calls ``tax`` again.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CallSample:
    """Files by their paths; ``surely`` are the callees of Shop.sell that must be certain."""

    language: str
    files: dict[str, str]
    surely: frozenset[str] = field(
        default=frozenset({"Shop.price", "Stock.take", "Bill.send", "tax"})
    )


PYTHON = CallSample(
    "python",
    {
        "shop/money.py": "def tax(net):\n    return rate(net)\n\n\ndef rate(net):\n"
        "    return tax(net)\n",
        "shop/stock.py": "class Stock:\n    def take(self, item):\n        return item\n",
        "shop/bill.py": "class Bill:\n    def __init__(self, net):\n        self.net = net\n\n"
        "    def send(self):\n        return self.net\n",
        "shop/shop.py": """\
from .bill import Bill as Invoice
from .money import tax
from .stock import Stock


class Shop:
    def __init__(self, stock: Stock):
        self.stock = stock

    def price(self, item):
        return len(item)

    def sell(self, item):
        self.stock.take(item)
        net = self.price(item)
        bill = Invoice(tax(net))
        bill.send()
        print(net)
""",
    },
)

_SCRIPT = """\
import {{ Bill as Invoice }} from './bill';
import {{ tax }} from './money';
import {{ Stock }} from './stock';

export class Shop {{
  constructor() {{
    this.stock = new Stock();
  }}
  price(item{typed}) {{
    return item.length;
  }}
  sell(item{typed}) {{
    this.stock.take(item);
    const net = this.price(item);
    const bill = new Invoice(tax(net));
    bill.send();
    console.log(net);
  }}
}}
"""


def _script(language: str, ending: str, typed: str) -> CallSample:
    return CallSample(
        language,
        {
            f"src/money{ending}": f"export function tax(net{typed}) {{\n  return rate(net);\n}}\n"
            f"const rate = (net{typed}) => tax(net);\n",
            f"src/stock{ending}": f"export class Stock {{\n  take(item{typed}) {{}}\n}}\n",
            f"src/bill{ending}": f"export class Bill {{\n  constructor(net{typed}) {{}}\n"
            "  send() {}\n}\n",
            f"src/shop{ending}": _SCRIPT.format(typed=typed),
        },
    )


JAVASCRIPT = _script("javascript", ".js", "")
TYPESCRIPT = _script("typescript", ".ts", ": any")
TSX = _script("tsx", ".tsx", ": any")

JAVA = CallSample(
    "java",
    {
        "shop/Money.java": "package shop;\nclass Money {\n"
        "  static int tax(int net) { return rate(net); }\n"
        "  static int rate(int net) { return tax(net); }\n}\n",
        "shop/Stock.java": "package shop;\nclass Stock {\n  void take(String item) {}\n}\n",
        "shop/Bill.java": "package shop;\nclass Bill {\n  Bill(int net) {}\n  void send() {}\n}\n",
        "shop/Shop.java": """\
package shop;
class Shop {
  private final Stock stock = new Stock();
  int price(String item) { return item.length(); }
  void sell(String item) {
    stock.take(item);
    int net = price(item);
    Bill bill = new Bill(Money.tax(net));
    bill.send();
    System.out.println(net);
  }
}
""",
    },
    frozenset({"Shop.price", "Stock.take", "Bill.send", "Money.tax"}),
)

GO = CallSample(
    "go",
    {
        "shop/money.go": "package shop\n\nfunc tax(net int) int { return rate(net) }\n\n"
        "func rate(net int) int { return tax(net) }\n",
        "shop/stock.go": "package shop\n\ntype Stock struct{}\n\n"
        "func (s *Stock) take(item string) {}\n"
        "\ntype Bill struct{ net int }\n\nfunc NewBill(net int) *Bill { return &Bill{net} }\n\n"
        "func (b *Bill) send() {}\n",
        "shop/shop.go": """\
package shop

import "fmt"

type Shop struct {
	stock *Stock
}

func (s *Shop) price(item string) int { return len(item) }

func (s *Shop) sell(item string) {
	s.stock.take(item)
	net := s.price(item)
	bill := NewBill(tax(net))
	bill.send()
	fmt.Println(net)
}
""",
    },
)

RUST = CallSample(
    "rust",
    {
        "src/money.rs": "pub fn tax(net: u64) -> u64 { rate(net) }\n\n"
        "pub fn rate(net: u64) -> u64 { tax(net) }\n",
        "src/stock.rs": "pub struct Stock;\n\nimpl Stock {\n"
        "    pub fn take(&self, item: &str) {}\n}\n",
        "src/bill.rs": "pub struct Bill { net: u64 }\n\nimpl Bill {\n"
        "    pub fn new(net: u64) -> Self { Bill { net } }\n    pub fn send(&self) {}\n}\n",
        "src/shop.rs": """\
use crate::bill::Bill;
use crate::money::tax;
use crate::stock::Stock;

pub struct Shop { stock: Stock }

impl Shop {
    fn price(&self, item: &str) -> u64 { item.len() as u64 }

    pub fn sell(&self, item: &str) {
        self.stock.take(item);
        let net = self.price(item);
        let bill = Bill::new(tax(net));
        bill.send();
        println!("{}", net);
    }
}
""",
    },
    frozenset({"Shop.price"}),
)

C = CallSample(
    "c",
    {
        "money.c": '#include "money.h"\nint tax(int net) { return rate(net); }\n\n'
        "int rate(int net) { return tax(net); }\n",
        "shop.c": '#include "money.h"\n\nstatic int price(int item) { return item; }\n\n'
        "int sell(int item)\n{\n    int net = price(item);\n    net = tax(net);\n"
        '    printf("%d", net);\n    return net;\n}\n',
    },
    frozenset({"price", "tax"}),
)

CPP = CallSample(
    "cpp",
    {
        "money.cc": "int tax(int net) { return rate(net); }\n"
        "int rate(int net) { return tax(net); }\n",
        "stock.hpp": "class Stock {\n public:\n  void take(int item) {}\n};\n",
        "bill.hpp": "class Bill {\n public:\n  explicit Bill(int net);\n  void send();\n};\n",
        "bill.cc": '#include "bill.hpp"\nvoid Bill::send() {}\n',
        "shop.hpp": """\
#include "stock.hpp"
class Shop {
 public:
  int price(int item) { return item; }
  void sell(int item) {
    stock->take(item);
    int net = price(item);
    Bill bill{tax(net)};
    bill.send();
    std::move(net);
  }
  Stock* stock;
};
""",
    },
)

C_SHARP = CallSample(
    "csharp",
    {
        "Money.cs": "namespace Shops {\n  static class Money {\n"
        "    public static int Tax(int net) { return Rate(net); }\n"
        "    public static int Rate(int net) { return Tax(net); }\n  }\n}\n",
        "Stock.cs": "namespace Shops {\n  class Stock {\n"
        "    public void Take(string item) {}\n  }\n}\n",
        "Bill.cs": "namespace Shops {\n  class Bill {\n    public Bill(int net) {}\n"
        "    public void Send() {}\n  }\n}\n",
        "Shop.cs": """\
namespace Shops {
  class Shop {
    private readonly Stock stock = new Stock();
    int Price(string item) => item.Length;
    public void Sell(string item) {
      stock.Take(item);
      int net = Price(item);
      var bill = new Bill(Money.Tax(net));
      bill.Send();
      Console.WriteLine(net);
    }
  }
}
""",
    },
    frozenset({"Shops.Shop.Price", "Shops.Stock.Take", "Shops.Bill.Send", "Shops.Money.Tax"}),
)

KOTLIN = CallSample(
    "kotlin",
    {
        "shop/Money.kt": "package shop\n\nfun tax(net: Int): Int = rate(net)\n\n"
        "fun rate(net: Int): Int = tax(net)\n",
        "shop/Stock.kt": "package shop\n\nclass Stock {\n    fun take(item: String) {}\n}\n\n"
        "class Bill(val net: Int) {\n    fun send() {}\n}\n",
        "shop/Shop.kt": """\
package shop

class Shop(val stock: Stock) {
    fun price(item: String): Int = item.length

    fun sell(item: String) {
        stock.take(item)
        val net = price(item)
        val bill = Bill(tax(net))
        bill.send()
        println(net)
    }
}
""",
    },
)

RUBY = CallSample(
    "ruby",
    {
        "money.rb": "def tax(net)\n  rate(net)\nend\n\ndef rate(net)\n  tax(net)\nend\n",
        "stock.rb": "class Stock\n  def take(item)\n  end\nend\n\nclass Bill\n"
        "  def initialize(net)\n  end\n\n  def send(to)\n  end\nend\n",
        "shop.rb": """\
require_relative "money"

class Shop
  def initialize
    @stock = Stock.new
  end

  def price(item)
    item.size
  end

  def sell(item)
    @stock.take(item)
    net = price(item)
    bill = Bill.new(tax(net))
    bill.send(net)
    puts(net)
  end
end
""",
    },
    frozenset({"Shop.price", "Stock.take", "Bill.send"}),
)

PHP = CallSample(
    "php",
    {
        "money.php": "<?php\nfunction tax($net) { return rate($net); }\n"
        "function rate($net) { return tax($net); }\n",
        "stock.php": "<?php\nclass Stock {\n  function take($item) {}\n}\n"
        "class Bill {\n  function __construct($net) {}\n  function send() {}\n}\n",
        "shop.php": """\
<?php
class Shop {
  private Stock $stock;
  function price($item) { return strlen($item); }
  function sell($item) {
    $this->stock->take($item);
    $net = $this->price($item);
    $bill = new Bill(tax($net));
    $bill->send();
  }
}
""",
    },
    frozenset({"Shop.price", "Stock.take", "Bill.send"}),
)

SWIFT = CallSample(
    "swift",
    {
        "Money.swift": "func tax(_ net: Int) -> Int { return rate(net) }\n\n"
        "func rate(_ net: Int) -> Int { return tax(net) }\n",
        "Stock.swift": "class Stock {\n    func take(_ item: String) {}\n}\n\nclass Bill {\n"
        "    init(_ net: Int) {}\n    func send() {}\n}\n",
        "Shop.swift": """\
class Shop {
    let stock: Stock = Stock()

    func price(_ item: String) -> Int { return item.count }

    func sell(_ item: String) {
        stock.take(item)
        let net = price(item)
        let bill = Bill(tax(net))
        bill.send()
        print(net)
    }
}
""",
    },
)

SCALA = CallSample(
    "scala",
    {
        "shop/Money.scala": "package shop\n\nobject Money {\n  def tax(net: Int): Int = rate(net)\n"
        "  def rate(net: Int): Int = tax(net)\n}\n",
        "shop/Stock.scala": "package shop\n\nclass Stock {\n"
        "  def take(item: String): Unit = {}\n}\n\n"
        "class Bill(net: Int) {\n  def send(): Unit = {}\n}\n",
        "shop/Shop.scala": """\
package shop

class Shop(stock: Stock) {
  def price(item: String): Int = item.length

  def sell(item: String): Unit = {
    stock.take(item)
    val net = price(item)
    val bill = new Bill(Money.tax(net))
    bill.send()
    println(net)
  }
}
""",
    },
    frozenset({"Shop.price", "Stock.take", "Bill.send", "Money.tax"}),
)

SAMPLES = (
    PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, JAVA, GO, RUST, C, CPP, C_SHARP, KOTLIN, RUBY, PHP, SWIFT,
    SCALA,
)  # fmt: skip
