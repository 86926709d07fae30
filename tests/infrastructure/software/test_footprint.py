"""What is taken back of a host's network: what daemons made, and nothing that others made meanwhile."""

from __future__ import annotations

from loadstone.infrastructure.software.footprint import difference

BEFORE = """\
link lo
link eth0
address eth0 192.0.2.7/24
knob ipv4/ip_forward 0
knob netfilter/nf_conntrack_max 65536
iptables *filter
iptables :INPUT ACCEPT [0:0]
iptables :FORWARD ACCEPT [0:0]
iptables :ours-by-hand - [0:0]
iptables -A INPUT -s 198.51.100.1/32 -j DROP
iptables COMMIT
"""
AFTER = """\
folder /var/lib/docker
link lo
link eth0
link docker0
link docker_gwbridge
link tun0
address eth0 192.0.2.7/24
address docker_gwbridge 172.18.0.1/16
address docker0 fe80::1/64
knob ipv4/ip_forward 1
knob netfilter/nf_conntrack_max 65536
knob bridge/bridge-nf-call-iptables 1
iptables *nat
iptables :POSTROUTING ACCEPT [0:0]
iptables :DOCKER - [0:0]
iptables -A POSTROUTING -s 172.18.0.3/32 -d 172.18.0.3/32 -p tcp -m tcp --dport 5432 -j MASQUERADE
iptables -A POSTROUTING -s 10.8.0.0/24 -o tun0 -j MASQUERADE
iptables -A DOCKER -i docker0 -j RETURN
iptables COMMIT
iptables *filter
iptables :INPUT ACCEPT [1:2]
iptables :FORWARD DROP [3:4]
iptables :ours-by-hand - [0:0]
iptables :DOCKER-USER - [0:0]
iptables :another-chain - [0:0]
iptables -A INPUT -s 198.51.100.1/32 -j DROP
iptables -A INPUT -s 198.51.100.2/32 -j DROP
iptables -A FORWARD -j DOCKER-USER
iptables -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -A FORWARD -j another-chain
iptables -A DOCKER-USER -j RETURN
iptables COMMIT
"""


def test_what_daemons_made_is_removed_and_nothing_else() -> None:
    removal = difference(BEFORE, AFTER)
    assert removal.links == ("docker0", "docker_gwbridge")
    assert removal.knobs == (("ipv4/ip_forward", "0"),)
    assert removal.folders == ("/var/lib/docker",)
    assert removal.rules == {
        "iptables": """\
*nat
-D POSTROUTING -s 172.18.0.3/32 -d 172.18.0.3/32 -p tcp -m tcp --dport 5432 -j MASQUERADE
-F DOCKER
-X DOCKER
COMMIT
*filter
-D FORWARD -j DOCKER-USER
-D FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
:FORWARD ACCEPT
-F DOCKER-USER
-X DOCKER-USER
COMMIT
"""
    }


def test_nothing_is_left_to_remove() -> None:
    removal = difference(BEFORE, BEFORE)
    assert (removal.links, removal.knobs, removal.folders, removal.rules) == ((), (), (), {})
    rule = "iptables -A INPUT -s 198.51.100.1/32 -j DROP\n"
    assert difference(BEFORE, BEFORE.replace(rule, rule * 2)).rules == {}, "a rule that the user added again"


def test_the_words_of_a_comment_are_no_options_of_its_rule() -> None:
    theirs = ['"all but -i docker0"', '"from -s anywhere"', '"to \\"-j KUBE-FORWARD\\""']
    ours = '-A FORWARD -m comment --comment "name: \\"nomad\\"" -j CNI-FORWARD'
    now = [":FORWARD ACCEPT [0:0]", ":CNI-FORWARD - [0:0]", ":KUBE-FORWARD - [0:0]", ours]
    now += [f"-A FORWARD -m comment --comment {comment} -j DROP" for comment in theirs]
    after = "".join(f"iptables {line}\n" for line in ["*filter", *now, "COMMIT"])
    before = "iptables *filter\niptables :FORWARD ACCEPT [0:0]\niptables COMMIT\n"
    rules = difference(before, after).rules["iptables"].splitlines()
    assert [line for line in rules if line.startswith("-D")] == [ours.replace("-A", "-D", 1)]
