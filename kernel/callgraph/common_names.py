"""Methods that every object of a language has, or its strings and lists: their names say little."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON = frozenset(
    name for value in (str, bytes, list, dict, set, tuple, int, float) for name in dir(value)
)
JAVASCRIPT = _words(
    """
    apply at bind call catch charAt charCodeAt clear codePointAt concat copyWithin endsWith
    entries every exec fill filter finally find findIndex findLast flat flatMap forEach get
    has hasOwnProperty includes indexOf join keys lastIndexOf localeCompare map match matchAll
    normalize padEnd padStart pop push reduce reduceRight repeat replace replaceAll reverse
    search set shift slice some sort splice split startsWith substring test then toFixed
    toISOString toJSON toLocaleString toLowerCase toString toUpperCase trim trimEnd trimStart
    unshift valueOf values log warn error info debug addEventListener removeEventListener
    appendChild close end on once off emit write next return throw add delete getTime abort
    """
)
RUBY = _words(
    """
    each map select reject call new to_s to_a to_h to_sym keys values fetch merge include?
    empty? nil? any? all? first last push join split gsub sub match size length is_a?
    respond_to? send freeze dup raise require puts
    """
)
GO = _words(
    """
    Close Error Len Lock Read String Unlock Write
    """
)
RUST = _words(
    """
    as_bytes as_mut as_ref as_str and_then chain clone cloned cmp collect contains copied
    count default deref drop eq err expect extend filter find flatten fmt fold from get
    get_mut hash insert into into_inner into_iter is_empty is_err is_none is_ok is_some iter
    iter_mut join len lock map map_err next ok ok_or or_else poll pop push remove replace send
    split take to_owned to_string to_vec trim unwrap unwrap_or unwrap_or_default
    unwrap_or_else wake with_capacity write zip
    """
)
CPP = _words(
    """
    append at back begin c_str clear data emplace emplace_back empty end erase find front get
    insert length load pop_back push_back rbegin release rend reserve reset resize size store
    str substr swap value lock unlock count
    """
)
SWIFT = _words(
    """
    append map filter first contains count forEach insert remove joined
    """
)
# Java, Kotlin, Scala and C#.
OBJECTS = _words(
    """
    add addAll apply clear close compareTo contains containsKey equals filter find forEach
    format get getClass hashCode indexOf isEmpty iterator join keySet length map next put
    remove replace run set size split startsWith stream substring toString trim valueOf values
    write read append accept Add Any Append Clear Contains ContainsKey Dispose Equals First
    GetHashCode GetType Insert Invoke Join Remove Replace Select Split StartsWith Substring
    ToArray ToList ToString TryGetValue Where Write
    """
)
