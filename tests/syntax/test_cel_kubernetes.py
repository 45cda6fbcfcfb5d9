"""CEL as Open Cluster Management's placements have it: what Kubernetes' libraries add, with their answers."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.engine.placement.expressions import compile_condition, holds
from fleetform.syntax.cel import ExpressionError

CONTEXT: dict[str, Any] = {
    "cluster": {},
    "organization": {},
    "managedCluster": {"metadata": {"name": "eu-12", "annotations": {"weights": "[1, 2]"}}, "list": [1, 2, 2]},
}


@pytest.mark.parametrize(
    "expression",
    [
        # Lists
        "[1, 3].sum() == 4",
        "[1.0, 2.5].sum() == 3.5",
        "[].sum() == 0",
        "managedCluster.list.sum() == 5",
        "managedCluster.list.map(x, x * 2).max() == 4",
        "['b', 'a'].min() == 'a'",
        "[1, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()",
        "managedCluster.list.indexOf(2) == 1",
        "managedCluster.list.lastIndexOf(2) == 2",
        "['a'].indexOf('b') == -1",
        "[true].indexOf(1) == -1",
        "[{'a': 1}].indexOf({'a': 1}) == 0",
        # The same names on texts
        "'abcabc'.indexOf('c') == 2 && 'abcabc'.indexOf('c', 3) == 5",
        "'abcabc'.lastIndexOf('a') == 3 && 'abcabc'.lastIndexOf('a', 2) == 0",
        "'indexOf(' == 'indexOf('",
        # Regular expressions
        "managedCluster.metadata.name.find('[0-9]+') == '12'",
        "'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'a1b22'.findAll('([a-z])([0-9]+)', 1) == ['a1']",
        "'a1b22'.findAll('(?P<letter>[a-z])[(0-9)]+') == ['a1', 'b22']",
        "'a(1)'.find('\\\\([0-9]') == '(1'",
        "'x'.find('y') == ''",
        # Addresses of pages
        "url('https://user@example.com:80/a b?x=1&x=2').getHost() == 'example.com:80'",
        "url('https://example.com:80/?x=1&x=2&y=').getQuery() == {'x': ['1', '2'], 'y': ['']}",
        "url('https://[::1]:8443/').getHostname() == '::1'",
        "url('https://[::1]:8443/').getPort() == '8443'",
        "url('https://example.com/').getPort() == ''",
        "url('https://example.com/a b').getEscapedPath() == '/a%20b'",
        "url('/path').getScheme() == ''",
        "isURL('https://a') && isURL('/path') && !isURL('a') && !isURL('mailto:x') && !isURL('https://a:b/')",
        # Networks
        "ip('10.0.0.1').family() == 4 && ip('::1').family() == 6",
        "!isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('127.0.0.01') && isIP('::1')",
        "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')",
        "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
        "ip('ff02::1').isLinkLocalMulticast() && !ip('fd00::1').isLinkLocalMulticast()",
        "!ip('ff01::1').isLinkLocalMulticast() && !ip('fe02::1').isLinkLocalMulticast()",
        "ip('ff12::1').isLinkLocalMulticast()",
        "ip('224.0.0.255').isLinkLocalMulticast() && !ip('223.255.255.255').isLinkLocalMulticast()",
        "!ip('0.0.0.0').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast()",
        "!ip('169.254.0.1').isGlobalUnicast()",
        "!isCIDR('::ffff:1.2.3.4/96') && !isCIDR('fe80::1%eth0/64') && !isCIDR('10.0.0.0/08') && isCIDR('10.0.0.0/0')",
        "!isCIDR('10.0.0.0/') && !isCIDR('10.0.0.0/٨') && !isCIDR('x/8') && isCIDR('10.0.0.0/8')",
        "ip('169.254.169.254').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
        "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
        "!ip('ff00::1').isGlobalUnicast() && ip('127.0.0.1').isLoopback() && ip('::').isUnspecified()",
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
        "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
        "!cidr('192.168.10.0/24').containsCIDR(cidr('192.168.0.0/16')) && !cidr('::/0').containsCIDR('10.0.0.0/8')",
        "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/128').prefixLength() == 128",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/255.0.0.0') && !isCIDR('10.0.0.0')",
        # Quantities
        "quantity('1') == quantity('1000m')",
        "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
        "quantity('50k').asInteger() == 50000 && quantity('1.5').asApproximateFloat() == 1.5",
        "!quantity('1.5').isInteger() && !quantity('9999999999999999999999999999999999999G').isInteger()",
        "quantity('-1').sign() == -1 && quantity('0').sign() == 0 && quantity('2').sign() == 1",
        "quantity('500m').sign() == 1 && quantity('-500m').sign() == -1",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').compareTo(quantity('50Mi')) == -1",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && !quantity('1Gi').isGreaterThan(quantity('1Gi'))",
        "quantity('50M').isLessThan(quantity('100M')) && !quantity('50M').isLessThan(quantity('50M'))",
        "isQuantity('1.3Gi') && !isQuantity('200K') && !isQuantity('Mi')",
        # Versions
        "semver('v1.30', true).compareTo(semver('1.30.0')) == 0 && semver('01.01.01', true) == semver('1.1.1')",
        "semver('1.0.0+a') == semver('1.0.0+b') && semver('1.30.2').minor() == 30",
        "semver('v1.27.3-gke.100', true).isLessThan(semver('1.27.3'))",
        "!isSemver('v1.0') && isSemver('v1.0', true) && !isSemver('v1.2-a', true)",
        "!semver('1.2.3').isGreaterThan(semver('1.2.3')) && !semver('1.2.3').isLessThan(semver('1.2.3'))",
        # What Open Cluster Management and CEL itself add
        "managedCluster.metadata.annotations.weights.parseJSON().sum() == 3.0",
        "managedCluster.?spec.?taints.orValue([]).size() == 0",
    ],
)
def test_a_function_answers_as_in_kubernetes(expression: str) -> None:
    assert holds(expression, CONTEXT)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[].max() == 1", "max called on empty list"),
        ("'a'.find('(') == ''", "missing )"),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        ("ip('127.0.0.256').family() == 4", "127.0.0.256"),
        ("url('example').getHost() == ''", "not an address"),
        ("'abc'.indexOf('c', 7) == 1", "index out of range: 7"),
        ("cidr('10.0.0.0/8').family() == 4", "it is no ip"),
        ("quantity('1').isLessThan(semver('1.0.0'))", "a version and a quantity do not compare"),
    ],
)
def test_what_cannot_be_answered_says_why(expression: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why.replace("(", r"\(").replace(")", r"\)")):
        holds(expression, CONTEXT)


def test_a_mistake_names_the_function_that_was_written_and_its_column() -> None:
    with pytest.raises(ExpressionError, match=r"'indexOf'.* \(column 20\)"):
        compile_condition("true && [1].indexOf()")


def test_a_pattern_that_takes_others_for_ever_is_answered_at_once() -> None:
    assert holds("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.find('(a+)+$') == ''", CONTEXT)
