"""What Kubernetes adds to CEL, and with it Open Cluster Management's placements: lists, regular expressions, addresses,
quantities, versions.

The library has no types of our own, so a quantity, a version, an address or a network is a map with one key, in a
form that is the same for all that are equal. Its runtime matches no parameter of a dynamic type: what may be of any
type has an overload for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

import semver

from fleetform.syntax.cel import Cel, ExpressionError, run
from fleetform.syntax.quantities import parse_quantity

Value = dict[str, str]
_INT64 = range(-(2**63), 2**63)
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|\((?!\?)|\(\?P?<[^>]*>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Function(NamedTuple):
    """A function: its name, the type of its result, those of its parameters, and what it does."""

    name: str
    gives: Any
    takes: list[Any]
    is_member: bool
    answer: Callable[..., Any]


def declared(cel: Cel, wanted: Iterable[Function]) -> list[Cel]:
    """Functions, as an environment takes them."""
    overloads: dict[str, list[Any]] = {}
    for each in wanted:
        known = overloads.setdefault(each.name, [])
        known.append(
            cel.Overload(
                f"{each.name.replace('.', '_')}_{len(known)}",
                return_type=each.gives,
                parameters=each.takes,
                is_member=each.is_member,
                impl=each.answer,
            )
        )
    return [cel.FunctionDecl(name, known) for name, known in overloads.items()]


def functions(types: Any) -> Iterator[Function]:
    yield from _of_lists(types)
    yield from _of_texts(types)
    yield from _of_amounts(types)
    yield from _of_networks(types)


# ---- Lists

# The library's own extension of texts declares these two; same_length puts ours in their place.
_INDEX_NAMES = {"indexOf": "indexIn", "lastIndexOf": "lastIndexIn"}
_INDEX_CALLS = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\.\s*(indexOf|lastIndexOf)\s*\(""")


def with_list_indexes(text: str) -> str:
    """The expression with names of ours for functions that the library has for texts alone.

    They are as long as those they stand for, so that columns in messages stay.
    """
    return _INDEX_CALLS.sub(lambda found: found[1] or found[0].replace(found[2], _INDEX_NAMES[found[2]]), text)


def without_list_indexes(message: str) -> str:
    for theirs, ours in _INDEX_NAMES.items():
        message = message.replace(ours, theirs)
    return message


def _of_lists(types: Any) -> Iterator[Function]:
    listed, number, text = types.LIST, types.INT, types.STRING
    yield Function("sum", types.DYN, [listed], True, sum)
    yield Function("min", types.DYN, [listed], True, lambda values: _extreme(values, "min", min))
    yield Function("max", types.DYN, [listed], True, lambda values: _extreme(values, "max", max))
    yield Function("isSorted", types.BOOL, [listed], True, lambda values: list(values) == sorted(values))
    for item in (types.INT, types.STRING, types.DOUBLE, types.BOOL, types.UINT, types.MAP, types.LIST):
        yield Function("indexIn", number, [listed, item], True, _index)
        yield Function("lastIndexIn", number, [listed, item], True, _last_index)
    yield Function("indexIn", number, [text, text], True, lambda value, part: value.find(part))
    yield Function("indexIn", number, [text, text, number], True, _index_from)
    yield Function("lastIndexIn", number, [text, text], True, lambda value, part: value.rfind(part))
    yield Function("lastIndexIn", number, [text, text, number], True, _last_index_from)


def _extreme(values: list[Any], name: str, choose: Callable[[list[Any]], Any]) -> Any:
    if not values:
        raise ValueError(f"{name} called on empty list")
    return choose(list(values))


def _index(values: list[Any], item: Any) -> int:
    return next((index for index, each in enumerate(values) if _equal(each, item)), -1)


def _last_index(values: list[Any], item: Any) -> int:
    return next((index for index in reversed(range(len(values))) if _equal(values[index], item)), -1)


def _equal(one: Any, other: Any) -> bool:
    # In Python true is 1.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _index_from(text: str, part: str, start: int) -> int:
    _check_offset(text, start)
    return text.find(part, start)


def _last_index_from(text: str, part: str, last: int) -> int:
    _check_offset(text, last)
    return text.rfind(part, 0, last + len(part))


def _check_offset(text: str, offset: int) -> None:
    if not 0 <= offset <= len(text):
        raise ValueError(f"index out of range: {offset}")


# ---- Texts: regular expressions and addresses of pages


def _of_texts(types: Any) -> Iterator[Function]:
    text, tree = types.STRING, types.Map(types.STRING, types.DYN)
    yield Function("find", text, [text, text], True, lambda value, pattern: (_find_all(value, pattern) or [""])[0])
    yield Function("findAll", types.List(text), [text, text], True, _find_all)
    yield Function("findAll", types.List(text), [text, text, types.INT], True, _find_some)
    yield Function("url", tree, [text], False, lambda value: {"url": _url(value).geturl()})
    yield Function("isURL", types.BOOL, [text], False, succeeds(_url))
    parts: dict[str, Callable[[SplitResult], str]] = {
        "getScheme": lambda url: url.scheme,
        "getHost": lambda url: url.netloc.rpartition("@")[2],
        "getHostname": lambda url: _host_and_port(url)[0],
        "getPort": lambda url: _host_and_port(url)[1],
        "getEscapedPath": lambda url: quote(url.path, safe="/%:@!$&'()*+,;=~-._"),
    }
    for name, part in parts.items():
        yield Function(name, text, [tree], True, _reading("url", _url, part))
    yield Function("getQuery", tree, [tree], True, _reading("url", _url, lambda url: parse_qs(url.query, True)))


def _find_some(text: str, pattern: str, most: int) -> list[str]:
    found = _find_all(text, pattern)
    return found if most < 0 else found[:most]


@lru_cache(maxsize=4_096)
def _find_all(text: str, pattern: str) -> list[str]:
    """All matches, by RE2: Python's own expressions can take for ever."""
    # The library gives what a group matched, if there is one.
    whole = _GROUP.sub(lambda found: "(?:" if found[0].startswith("(") else found[0], pattern)
    matches = run(_extractor(), {"text": text, "pattern": whole}).plain_value()
    if not isinstance(matches, list):
        raise ExpressionError("it gives no matches")
    return [str(each) for each in matches]


@lru_cache(maxsize=1)
def _extractor() -> Cel:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional

    with_regex = cel.NewEnvConfigFromYaml("name: regex\nextensions:\n- name: regex\n")
    environment = cel.NewEnv(
        config=with_regex,
        variables=dict.fromkeys(("text", "pattern"), cel.Type.STRING),
        extensions=[ext_optional.ExtOptional()],
    )
    return environment.compile("regex.extractAll(text, pattern)")


def _url(text: str) -> SplitResult:
    """An address with a scheme, or a path from the root, as a request may name it. ValueError if it is neither."""
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme is not None else text
    if not rest.startswith("/") or _CONTROL.search(text):
        raise ValueError(f"{text!r} is not an address such as https://example.com/path")
    found = urlsplit(text)
    _host_and_port(found)
    if " " in found.netloc:
        raise ValueError(f"{text!r} has a blank in its host")
    return found


def _host_and_port(url: SplitResult) -> tuple[str, str]:
    host, colon, port = url.netloc.rpartition("@")[2].rpartition(":")
    if not colon or host.count("[") != host.count("]"):
        host, port = f"{host}{colon}{port}", ""
    if port and not port.isdecimal():
        raise ValueError(f"{port!r} is not a port")
    return host.removeprefix("[").removesuffix("]"), port


# ---- Quantities and versions


def _of_amounts(types: Any) -> Iterator[Function]:
    text, truth, number = types.STRING, types.BOOL, types.INT
    tree = types.Map(types.STRING, types.DYN)
    yield Function("quantity", tree, [text], False, _quantity)
    yield Function("isQuantity", truth, [text], False, succeeds(_quantity))
    yield Function("semver", tree, [text], False, _semver)
    yield Function("semver", tree, [text, truth], False, _semver)
    yield Function("isSemver", truth, [text], False, succeeds(_semver))
    yield Function("isSemver", truth, [text, truth], False, succeeds(_semver))
    for part in ("major", "minor", "patch"):
        yield Function(part, number, [tree], True, _reading("semver", semver.Version.parse, _attribute(part)))
    yield Function("isInteger", truth, [tree], True, _reading("quantity", Decimal, _is_integer))
    yield Function("asInteger", number, [tree], True, _reading("quantity", Decimal, _as_integer))
    yield Function("asApproximateFloat", types.DOUBLE, [tree], True, _reading("quantity", Decimal, float))
    yield Function("sign", number, [tree], True, _reading("quantity", Decimal, lambda it: (it > 0) - (it < 0)))
    for name, factor in (("add", 1), ("sub", -1)):
        for other in (tree, number):
            yield Function(name, tree, [tree, other], True, _adding(factor))
    yield Function("compareTo", number, [tree, tree], True, _compare)
    yield Function("isGreaterThan", truth, [tree, tree], True, lambda left, right: _compare(left, right) > 0)
    yield Function("isLessThan", truth, [tree, tree], True, lambda left, right: _compare(left, right) < 0)


def _quantity(text: str) -> Value:
    return _as_quantity(parse_quantity(text))


def _as_quantity(amount: Decimal) -> Value:
    return {"quantity": format(amount.normalize(), "f") if amount else "0"}


def _semver(text: str, normalize: bool = False) -> Value:
    if normalize:
        parts = text.removeprefix("v").split(".", 2)
        # Without leading zeros; what stands behind a number (1-rc) keeps its place.
        parts = [re.sub(r"\A0+(?=[0-9])", "", part) for part in parts]
        if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
            raise ValueError(f"{text!r} has a pre-release or build and less than three numbers")
        text = ".".join([*parts, "0", "0"][:3] if len(parts) < 3 else parts)
    # Builds do not make versions differ.
    return {"semver": str(semver.Version.parse(text).replace(build=None))}


def _is_integer(amount: Decimal) -> bool:
    return amount == amount.to_integral_value() and int(amount) in _INT64


def _as_integer(amount: Decimal) -> int:
    if not _is_integer(amount):
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _adding(factor: int) -> Callable[[Value, Value | int], Value]:
    def answer(left: Value, right: Value | int) -> Value:
        amount = Decimal(right) if isinstance(right, int) else Decimal(_held(right, "quantity"))
        return _as_quantity(Decimal(_held(left, "quantity")) + factor * amount)

    return answer


def _compare(left: Value, right: Value) -> int:
    first, second = _amount(left), _amount(right)
    if isinstance(first, Decimal) != isinstance(second, Decimal):
        raise ValueError("a version and a quantity do not compare")
    return int(first > second) - int(first < second)


def _amount(value: Value) -> Any:
    if "semver" in value:
        return semver.Version.parse(value["semver"])
    if "quantity" in value:
        return Decimal(value["quantity"])
    raise ValueError("it is neither a version nor a quantity")


# ---- Networks

_Interface = IPv4Interface | IPv6Interface


def _of_networks(types: Any) -> Iterator[Function]:
    text, truth, number = types.STRING, types.BOOL, types.INT
    tree = types.Map(types.STRING, types.DYN)
    yield Function("ip", tree, [text], False, lambda value: {"ip": str(_ip(value))})
    yield Function("isIP", truth, [text], False, succeeds(_ip))
    yield Function("ip.isCanonical", truth, [text], False, lambda value: str(_ip(value)) == value)
    yield Function("family", number, [tree], True, _reading("ip", ip_address, _attribute("version")))
    for name, holds in _KINDS_OF_IP.items():
        yield Function(name, truth, [tree], True, _reading("ip", ip_address, holds))
    yield Function("cidr", tree, [text], False, lambda value: {"cidr": str(_cidr(value))})
    yield Function("isCIDR", truth, [text], False, succeeds(_cidr))
    yield Function("ip", tree, [tree], True, _reading("cidr", ip_interface, lambda it: {"ip": str(it.ip)}))
    yield Function("masked", tree, [tree], True, _reading("cidr", ip_interface, lambda it: {"cidr": str(it.network)}))
    length = _reading("cidr", ip_interface, lambda it: it.network.prefixlen)
    yield Function("prefixLength", number, [tree], True, length)
    for other in (tree, text):
        yield Function("containsIP", truth, [tree, other], True, _contains_ip)
        yield Function("containsCIDR", truth, [tree, other], True, _contains_cidr)


def _ip(text: str) -> Any:
    address = ip_address(text)
    if isinstance(address, IPv6Address) and (address.ipv4_mapped is not None or address.scope_id is not None):
        raise ValueError(f"{text!r} is an IPv4 address in IPv6, or has a zone")
    return address


def _cidr(text: str) -> _Interface:
    address, slash, length = text.partition("/")
    _ip(address)
    # Python reads a mask and leading zeros there, too.
    if not slash or not length.isascii() or not length.isdecimal() or (len(length) > 1 and length.startswith("0")):
        raise ValueError(f"{text!r} is not a network such as 10.0.0.0/8")
    return ip_interface(text)


_KINDS_OF_IP: Mapping[str, Callable[[Any], bool]] = {
    "isUnspecified": lambda address: address.is_unspecified,
    "isLoopback": lambda address: address.is_loopback,
    "isLinkLocalMulticast": lambda address: (
        address in ip_interface("224.0.0.0/24").network
        if address.version == 4
        else address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02
    ),
    "isLinkLocalUnicast": lambda address: address.is_link_local,
    "isGlobalUnicast": lambda address: (
        not (
            address.is_unspecified
            or address.is_loopback
            or address.is_multicast
            or address.is_link_local
            or str(address) == "255.255.255.255"
        )
    ),
}


def _contains_ip(network: Value, other: Value | str) -> bool:
    address = _ip(other if isinstance(other, str) else _held(other, "ip"))
    return address in ip_interface(_held(network, "cidr")).network


def _contains_cidr(network: Value, other: Value | str) -> bool:
    outer = ip_interface(_held(network, "cidr")).network
    inner = _cidr(other if isinstance(other, str) else _held(other, "cidr")).network
    return outer.version == inner.version and outer.prefixlen <= inner.prefixlen and outer.overlaps(inner)


# ---- What they share


def _held(value: Value, kind: str) -> str:
    if kind not in value:
        raise ValueError(f"it is no {kind}")
    return value[kind]


def _reading(kind: str, read: Callable[[str], Any], part: Callable[[Any], Any]) -> Callable[[Value], Any]:
    def answer(value: Value) -> Any:
        return part(read(_held(value, kind)))

    return answer


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, name)


def succeeds(reading: Callable[..., Any]) -> Callable[..., bool]:
    """Whether a text can be read."""

    def answer(*given: Any) -> bool:
        try:
            reading(*given)
        except ValueError:
            return False
        return True

    return answer
