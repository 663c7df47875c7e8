#!/bin/busybox sh
# The first program on a machine of kernels.sh. It comes twice: from the memory that the kernel unpacked, which
# cannot be left by pivot_root, and from a file system.
export PATH=/usr/bin:/usr/sbin HOME=/root
if [ ! -e /settled ]; then
	busybox mount -t tmpfs -o mode=755,size=80% new /new
	for d in /*; do
		[ "$d" = /new ] || busybox cp -a "$d" /new/
	done
	: >/new/settled
	exec busybox switch_root /new /init
fi

busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /new
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
busybox mount -t devpts devpts /dev/pts
busybox mount -t tmpfs -o mode=1777 shm /dev/shm
busybox ip link set lo up
busybox chown 1000:1000 /home/user
chmod 1777 /tmp
skip=$(sed -n 's/.*jptools\.skip=\([^ ]*\).*/\1/p' /proc/cmdline)
bad=0

as() { # user, command line
	user=$1
	shift
	case $user in
	root) "$@" ;;
	*) /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/user "$@" ;;
	esac
}

run() { # user, package, flags
	user=$1 package=$2
	shift 2
	cd "/jptools/$package" || exit
	if as "$user" ./test -test.v -test.skip="$skip" "$@" >/tmp/out 2>&1; then
		echo "-- ok $package as $user: $(grep -c '^ *--- PASS' /tmp/out) passed, $(grep -c '^ *--- SKIP' /tmp/out) skipped"
		grep -o 'not run: .*\|[0-9]* machines of the table.*' /tmp/out | sort | uniq -c
	else
		bad=1
		echo "-- FAILED $package as $user"
		grep -v '^ *=== \|^ *--- PASS\|^ *--- SKIP' /tmp/out
	fi
	rm -f /tmp/out
}

echo "-- $(uname -srm)"
/jptools/bin/jphost doctor | sed -n '/^What there is/,/^$/p; /^What to change/,$p'
for user in root user; do
	for package in $(cat /jptools/packages); do
		run $user "$package"
	done
	run $user host -test.run='^TestLesserMachines$' -tools=/jptools/bin
done
echo "-- without user namespaces"
echo 0 >/proc/sys/user/max_user_namespaces
run user sandbox/internal/engine
run user host -test.run='^TestLesserMachines$' -tools=/jptools/bin
[ $bad = 1 ] || echo "-- all passed"
busybox poweroff -f
