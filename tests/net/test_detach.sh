#!/bin/bash
# SPDX-License-Identifier: MIT
# Detach takes weir off the interface it is told, or off none; what is not weir's is in nobody's
# way.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

INDEX=77 # of an interface of each namespace

# interface_add NS DEV [INDEX]
interface_add() {
	testbed_in "$1" ip link add "$2" ${3:+index "$3"} type veth peer "$2.peer"
}

has_xdp() {
	testbed_in "$1" ip -json -details link show "$2" | jq -e '.[0].xdp' >/dev/null
}

# refused COMMAND...: it fails, and what it says is in $TESTBED_DIR/err.
refused() {
	! "$@" >/dev/null 2>"$TESTBED_DIR/err"
}

# says TEXT: what was refused last.
says() {
	grep -qF -e "$1" "$TESTBED_DIR/err"
}

attach_in() {
	weir attach "$2" --netns "$(testbed_name "$1")" --rate 1/h --capacity 100
}

detached() {
	"$@" --json | jq .detached
}

interface_named() {
	from_status '.interfaces[] | "\(.name) \(.netns)"'
}

read_only_detach() {
	unshare --mount sh -c 'mount -o remount,ro,bind /sys/fs/bpf && exec "$@"' sh \
		"$WEIR" detach "$@"
}

# pin_map NAME
pin_map() {
	bpftool map create "$TESTBED_PINS/$1" type percpu_array key 4 value 4 entries 1 name "other"
}

testbed_open
testbed_namespace a b
b=$(testbed_name b)
interface_add a eth0 $INDEX
interface_add b eth0 $INDEX

testbed_in a "$WEIR" attach eth0 --rate 1/h --capacity 100 >/dev/null
tap_check 'one of the same name and index elsewhere is refused' \
	refused testbed_in b "$WEIR" detach eth0
tap_check 'for what it is' says 'weir is not attached to it'
tap_check 'with where weir is attached' says 'eth0 (in another network namespace)'
tap_check 'and the other stays attached' has_xdp a eth0
tap_equal 'which detaches where it is' 1 "$(detached testbed_in a "$WEIR" detach eth0)"
tap_check 'and only there' eval '! has_xdp a eth0'

interface_add b e5
attach_in b e5 >/dev/null
testbed_in b ip link set e5 netns "$(testbed_name a)"
interface_add b e5.new
testbed_in b ip link set e5.new name e5
tap_check 'the new one of a name that moved away is refused' refused weir detach e5 --netns "$b"
tap_check 'and the one that moved stays attached' has_xdp a e5
testbed_in b ip link del e5
tap_check 'a name that moved away is refused' refused weir detach e5 --netns "$b"
tap_check 'and stays attached' has_xdp a e5
tap_equal 'it detaches where it moved to' 1 \
	"$(detached weir detach e5 --netns "$(testbed_name a)")"

attach_in b eth0 >/dev/null
testbed_in b ip link set eth0 name lan0
tap_equal 'a renamed one attaches again' replaced \
	"$(weir attach lan0 --netns "$b" --json | jq -r .attached)"
testbed_in b ip link del lan0
tap_equal 'and is then known by its new name' "lan0 $b" "$(interface_named)"
tap_check 'no longer by the old' refused weir detach eth0 --netns "$b"
tap_equal 'by which it detaches when it is gone' 1 "$(detached weir detach lan0 --netns "$b")"

interface_add b eth0
attach_in b eth0 >/dev/null
tap_check 'where the pin cannot go detach fails' refused read_only_detach eth0 --netns "$b"
tap_check 'and says why' says 'Read-only file system'
tap_check 'with --all as well' refused read_only_detach --all
tap_check 'and the interface stays attached' has_xdp b eth0
mkdir "$TESTBED_PINS/stray"
tap_equal 'a directory that is not ours fails no detach' 1 "$(detached weir detach eth0 --netns "$b")"
tap_equal 'and is all that stays' stray "$(ls "$TESTBED_PINS")"
tap_check 'nor does it fail an attach' attach_in b eth0
rmdir "$TESTBED_PINS/stray"
weir detach --all >/dev/null
tap_check 'which ends with no pin' test ! -e "$TESTBED_PINS"

mkdir "$TESTBED_PINS"
pin_map link_0
tap_check 'an object of others is no attached interface' refused weir status
tap_check 'and makes room for one' attach_in b eth0
pin_map link_0
pin_map link_07
pin_map link_+5
bpftool prog pin id "$(from_status '.interfaces[0].program_id')" "$TESTBED_PINS/link_2"
bpftool link pin id "$(bpftool -j link show pinned "$TESTBED_PINS/link_1" | jq .id)" \
	"$TESTBED_PINS/link_01"
mkdir "$TESTBED_PINS/link_3"
tap_equal 'status minds none' "eth0 $b" "$(interface_named)"
attach_in a eth0 >/dev/null
tap_equal 'attach goes round them' 2 "$(from_status '.interfaces | length')"
tap_check 'to the first slot without any' test -e "$TESTBED_PINS/link_4"
bpftool link pin id "$(bpftool -j link show pinned "$TESTBED_PINS/link_4" | jq .id)" \
	"$TESTBED_PINS/link_64"
tap_equal 'a slot beyond the last has no record' 2 "$(from_status '.interfaces | length')"
rm "$TESTBED_PINS/link_64"
tap_equal 'detach minds none' 1 "$(detached weir detach eth0 --netns "$b")"
tap_equal 'nor does detach --all' 1 "$(detached weir detach --all)"
tap_check 'it leaves weir nowhere' eval '! has_xdp a eth0 && ! has_xdp b eth0'
tap_equal 'and removes the objects' link_3 "$(ls "$TESTBED_PINS")"
rmdir "$TESTBED_PINS/link_3" "$TESTBED_PINS"
tap_finish
