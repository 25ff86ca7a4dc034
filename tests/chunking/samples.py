"""A small source per language, and what is known about its `total` and its definitions."""

from dataclasses import dataclass

from codekernel.chunking.grammar import ALIASES, GRAMMARS_FOLDER

LANGUAGES = sorted([*ALIASES, *(path.stem for path in GRAMMARS_FOLDER.glob("*.toml"))])


@dataclass(frozen=True)
class Sample:
    """`total` is a function of the source that fits into `budget` and must come out whole."""

    language: str
    source: str
    symbols: tuple[str, ...]
    kind: str
    signature: str
    defines: tuple[str, ...]
    budget: int = 130


SAMPLES = [
    Sample(
        "python",
        """\
import math

RATE = 0.2


class Basket:
    \"\"\"What a customer is about to buy.\"\"\"

    def __init__(self, items):
        self.items = items
        self.opened = True

    # Taxes come on top.
    @cached
    def total(self, rate: float) -> float:
        net = sum(self.items)
        return net * rate


def main():
    print(Basket([1, 2]).total(RATE))
""",
        ("Basket", "total"),
        "method",
        "def total(self, rate: float) -> float:",
        ("RATE", "Basket", "__init__", "total", "main"),
    ),
    Sample(
        "javascript",
        """\
import { tax } from './tax.js';
const RATE = 0.2, OTHER = [];

/** Sums up. */
export const total = (items, rate) => {
  const net = items.reduce((a, b) => a + b);
  return net * rate;
};

export class Basket {
  constructor(items) { this.items = items; }
  static of = (...items) => new Basket(items);
}

Basket.prototype.clear = function () {
  this.items = [];
};
exports.handlers = { open() { return 1; }, shut: () => 2 };
""",
        ("total",),
        "function",
        "export const total = (items, rate) =>",
        ("RATE", "OTHER", "total", "Basket", "constructor", "of", "clear"),
    ),
    Sample(
        "typescript",
        """\
export type Item = { price: number };

export interface Priced {
  total(rate: number): number;
}

export abstract class Basket implements Priced {
  constructor(private items: Item[]) {}

  @logged()
  total(rate: number): number {
    return this.items.reduce((sum, one) => sum + one.price, 0);
  }
}

enum Colour { Red, Green }
namespace Shop { export function open() {} }
export const RATE: number = 0.2;
""",
        ("Basket", "total"),
        "method",
        "total(rate: number): number",
        ("Item", "Priced", "total", "Basket", "constructor", "Colour", "Shop", "open", "RATE"),
    ),
    Sample(
        "tsx",
        """\
import React from 'react';

export const Badge = () => <b>new</b>;

export function Total({ items }: Props) {
  const net = items.length;
  return <p className="total">{net} items in your basket</p>;
}
""",
        ("Total",),
        "function",
        "export function Total({ items }: Props)",
        ("Badge", "Total"),
        150,
    ),
    Sample(
        "java",
        """\
package shop;

import java.util.List;

/** What a customer is about to buy. */
public class Basket<T> implements Priced {
    private final List<T> items;

    public Basket(List<T> items) {
        this.items = items;
    }

    /** Sums up. */
    @Override
    public int total(int rate) {
        return items.size() * rate;
    }

    enum Colour { RED, GREEN }
}
""",
        ("Basket", "total"),
        "method",
        "@Override public int total(int rate)",
        ("Basket", "total", "Colour"),
    ),
    Sample(
        "kotlin",
        """\
package shop

const val RATE = 0.2

interface Priced {
    fun total(rate: Double): Double
}

class Basket(val items: List<Int>) : Priced {
    /** Sums up. */
    override fun total(rate: Double): Double {
        val net = items.sum()
        return net * rate
    }
}

enum class Colour { RED, GREEN }
object Shop {
    fun open() {}
}
fun String.shout() = uppercase()
""",
        ("Basket", "total"),
        "method",
        "override fun total(rate: Double): Double",
        ("RATE", "Priced", "total", "Basket", "Colour", "Shop", "open", "shout"),
    ),
    Sample(
        "go",
        """\
package shop

import "fmt"

const Rate = 0.2

type Basket[T any] struct {
	items []T
	open  bool
}

type Priced interface{ Total() float64 }

// Total sums up.
func (b *Basket[T]) Total(rate float64) (net float64, err error) {
	net = float64(len(b.items))
	return net * rate, nil
}

func New() *Basket[int] { return nil }
""",
        ("Basket", "Total"),
        "method",
        "func (b *Basket[T]) Total(rate float64) (net float64, err error)",
        ("Rate", "Basket", "Priced", "Total", "New"),
        150,
    ),
    Sample(
        "rust",
        """\
use std::fmt;

pub const RATE: f64 = 0.2;

#[derive(Debug)]
pub struct Basket<T> {
    items: Vec<T>,
}

impl<T: Clone> Priced for Basket<T> {
    /// Sums up.
    #[inline]
    fn total(&self, rate: f64) -> f64 {
        let net = self.items.len() as f64;
        net * rate
    }
}

pub trait Priced { fn total(&self, rate: f64) -> f64; }
macro_rules! basket { () => {} }
mod tests { fn check() {} }
""",
        ("Basket", "total"),
        "method",
        "fn total(&self, rate: f64) -> f64",
        ("RATE", "Basket", "total", "Priced", "basket", "tests", "check"),
        150,
    ),
    Sample(
        "c",
        """\
#include <stdio.h>
#define RATE 2

typedef struct {
  int *items;
} Basket;

struct Node { struct Node *next; };
static int opened = 1;
int declared(void);

/* Sums up. */
static int *total(Basket *basket, int rate)
{
  int net = *basket->items;
  return net * rate;
}

int main(void) { return 0; }
""",
        ("total",),
        "function",
        "static int *total(Basket *basket, int rate)",
        ("RATE", "Basket", "Node", "opened", "total", "main"),
    ),
    Sample(
        "cpp",
        """\
#pragma once
namespace shop {

template <typename T>
class Basket : public Priced {
 public:
  Basket() = default;
  bool empty() const { return items_.empty(); }
 private:
  std::vector<T> items_;
};

// Sums up.
double Basket::total(double rate) const {
  double net = items_.size();
  return net * rate;
}

bool operator==(const A& a, const A& b) { return true; }
enum class Colour { Red };
using Items = std::vector<int>;
}  // namespace shop
""",
        ("shop", "Basket", "total"),
        "method",
        "double Basket::total(double rate) const",
        ("Basket", "empty", "total", "operator==", "Colour", "Items"),
    ),
    Sample(
        "csharp",
        """\
using System;

namespace Shop
{
    public record Item(int Price);

    public class Basket : IPriced
    {
        public int Count { get; set; }

        /// <summary>Sums up.</summary>
        [Logged]
        public int Total(int rate)
        {
            return Count * rate;
        }
    }

    interface IPriced { int Total(int rate); }
}
""",
        ("Shop", "Basket", "Total"),
        "method",
        "[Logged] public int Total(int rate)",
        ("Item", "Basket", "Count", "Total", "IPriced"),
        160,
    ),
    Sample(
        "ruby",
        """\
require 'set'

module Shop
  RATE = 0.2

  class Basket < Base
    attr_reader :items

    # Sums up.
    def total(rate)
      net = items.sum
      net * rate
    end

    def self.empty?
      true
    end
  end
end
""",
        ("Shop", "Basket", "total"),
        "method",
        "def total(rate)",
        ("Shop", "RATE", "Basket", "total", "empty?"),
        120,
    ),
    Sample(
        "php",
        """\
<?php
namespace Shop;

const RATE = 2;

interface Priced {}

class Basket extends Base implements Priced
{
    private $items = [];

    /** Sums up. */
    #[Logged]
    public function total(int $rate): int
    {
        return count($this->items) * $rate;
    }
}

function main() { echo 1; }
""",
        ("Basket", "total"),
        "method",
        "#[Logged] public function total(int $rate): int",
        ("RATE", "Priced", "Basket", "total", "main"),
        150,
    ),
    Sample(
        "swift",
        """\
import Foundation

let rate = 0.2

protocol Priced {
    func total(rate: Double) -> Double
}

struct Basket: Priced {
    var items: [Int]
    init(items: [Int]) { self.items = items }
}

extension Basket {
    /// Sums up.
    func total(rate: Double) -> Double {
        let net = items.count
        return Double(net) * rate
    }
}
enum Colour { case red }
""",
        ("Basket", "total"),
        "method",
        "func total(rate: Double) -> Double",
        ("rate", "Priced", "total", "Basket", "init", "Colour"),
    ),
    Sample(
        "scala",
        """\
package shop

trait Priced { def total(rate: Double): Double }

case class Item(price: Double)

object Basket extends App {
  val opened = true

  /** Sums up. */
  def total(items: List[Item], rate: Double): Double = {
    val net = items.map(_.price).sum
    net * rate
  }
}
""",
        ("Basket", "total"),
        "method",
        "def total(items: List[Item], rate: Double): Double =",
        ("Priced", "total", "Item", "Basket"),
        140,
    ),
    Sample(
        "lua",
        """\
local M = {}
local RATE = 0.2

-- Sums up.
function M.total(items, rate)
  local net = #items
  return net * rate
end

function M:clear() self.items = {} end
M.open = function() return true end
local function hidden() return 1 end

return M
""",
        ("M", "total"),
        "method",
        "function M.total(items, rate)",
        ("M", "RATE", "total", "clear", "open", "hidden"),
        110,
    ),
    Sample(
        "bash",
        """\
#!/usr/bin/env bash
set -e
RATE=2
export MODE=fast

# Sums up.
total() {
  local net=$1
  echo $((net * RATE))
}

function main { total 3; }
main "$@"
""",
        ("total",),
        "function",
        "total()",
        ("RATE", "MODE", "total", "main"),
        80,
    ),
    Sample(
        "haskell",
        """\
module Shop (total) where

import Data.List

data Basket = Empty | Basket [Int] deriving Show

-- | Sums up.
total :: Basket -> Int -> Int
total Empty _ = 0
total (Basket items) rate =
  sum items * rate

class Priced a where
  price :: a -> Int

main = print 1
""",
        ("total",),
        "function",
        "total :: Basket -> Int -> Int",
        ("Basket", "total", "Priced", "price", "main"),
        120,
    ),
    Sample(
        "elixir",
        """\
defmodule Shop.Basket do
  @moduledoc "What a customer is about to buy."
  @rate 2

  @doc "Sums up."
  @spec total(list, integer) :: integer
  def total([], _rate), do: 0
  def total(items, rate) when rate > 0 do
    Enum.sum(items) * rate
  end

  defp hidden?(x), do: x

  defmacro twice(x), do: x
end
""",
        ("Shop.Basket", "total"),
        "method",
        "def total([], _rate), do: 0",
        ("Shop.Basket", "total", "hidden?", "twice"),
        180,
    ),
    Sample(
        "zig",
        """\
const std = @import("std");

pub const Basket = struct {
    items: []u8,

    /// Sums up.
    pub fn total(self: Basket, rate: u8) u8 {
        const net = self.items.len;
        return net * rate;
    }
};

test "total of nothing" {
    try std.testing.expect(true);
}
pub fn main() void {}
""",
        ("Basket", "total"),
        "method",
        "pub fn total(self: Basket, rate: u8) u8",
        ("std", "Basket", "total", "main"),
        140,
    ),
    Sample(
        "sql",
        """\
CREATE TABLE shop.items (
    id INTEGER PRIMARY KEY,
    price INTEGER NOT NULL
);

-- Sums up.
CREATE VIEW total AS
SELECT sum(price) AS net
FROM shop.items;

CREATE INDEX by_price ON items (price);
""",
        ("total",),
        "view",
        "CREATE VIEW total AS",
        ("items", "total", "by_price"),
        90,
    ),
]
