#!/bin/sh
# Runs the tests of the sandbox on real Linux kernels: boots kernels of Debian in an emulator, each with a
# small system in memory, and runs the tests there as root, as an ordinary user, and without user namespaces.
#
# Needs, besides Go, programs of Debian that it names when they are missing. Downloads, below KERNELS_DIR and
# with package lists of its own, from the mirror that apt here uses (or MIRROR): a kernel, a shell and its
# usual programs for each of KERNELS, about 100 MB each. Nothing is installed, and nothing here is changed.
#
# KERNELS is a list of RELEASE/ARCHITECTURE. Emulated machines are slow, some minutes for each; KERNELS_ACCEL=kvm
# where that works. Tests of how long something takes, and of many calls, are left out.
set -eu
cd "$(dirname "$0")/.."
kernels=${KERNELS:-bullseye/amd64 bookworm/amd64 trixie/amd64 trixie-backports/amd64 bookworm/arm64 trixie/arm64}
dir=${KERNELS_DIR:-${TMPDIR:-/tmp}/jptools-kernels}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
slow='^Test(AsOrdinaryUser|Exposed.*|Launch|LaunchEnds|HostIsKilled|ManyAtOnce.*|NothingAddsUp|ObserverAgreesWithTheKernel)$'

missing=
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
for k in $kernels; do
	case $k in
	*/amd64) need qemu-system-x86_64 qemu-system-x86 ;;
	*/arm64) need qemu-system-aarch64 qemu-system-arm ;;
	*) echo "KERNELS: $k is not RELEASE/amd64 or RELEASE/arm64" >&2 && exit 2 ;;
	esac
done
need apt-get apt
need dpkg-deb dpkg
need cpio cpio
[ -r "$keys" ] || missing="$missing debian-archive-keyring"
[ -z "$missing" ] || { echo "not installed, by the names of Debian's packages: $(printf '%s\n' $missing | sort -u | tr '\n' ' ')" >&2 && exit 1; }
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1 || :)}
[ -n "$mirror" ] || { echo "apt here has no mirror of Debian; name one with MIRROR=" >&2 && exit 1; }

# fetch unpacks the newest kernel of a release, and what the tests call, into $at/root.
fetch() { # release, architecture
	[ ! -e "$at/fetched" ] || return 0
	rm -rf "$at"
	mkdir -p "$at/apt/etc/preferences.d" "$at/apt/etc/apt.conf.d" "$at/apt/lists/partial" "$at/apt/cache/archives/partial" "$at/root/usr"
	echo "deb [signed-by=$keys] $mirror ${1%-backports} main" >"$at/apt/etc/sources.list"
	[ "$1" = "${1%-backports}" ] || echo "deb [signed-by=$keys] $mirror $1 main" >>"$at/apt/etc/sources.list"
	: >"$at/apt/status"
	cat >"$at/apt/conf" <<-END
		Dir::Etc "$at/apt/etc";
		Dir::State "$at/apt";
		Dir::State::status "$at/apt/status";
		Dir::Cache "$at/apt/cache";
		APT::Architecture "$2";
		APT::Architectures { "$2"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
	END
	APT_CONFIG=$at/apt/conf apt-get update -qq
	APT_CONFIG=$at/apt/conf apt-get install -qq -y --download-only -t "$1" "linux-image-cloud-$2" \
		busybox-static coreutils dash findutils grep libc-bin util-linux >/dev/null
	for d in bin sbin lib lib64; do
		mkdir -p "$at/root/usr/$d"
		ln -s "usr/$d" "$at/root/$d"
	done
	for deb in "$at"/apt/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$at/root" --exclude='./usr/share/*' --exclude='./usr/lib/firmware/*' --exclude='*.ko*'
	done
	mv "$at"/root/boot/vmlinuz-* "$at/vmlinuz" 2>/dev/null || mv "$at"/root/usr/lib/modules/*/vmlinuz "$at/vmlinuz"
	rm -rf "$at/root/boot" "$at"/root/usr/lib/modules "$at"/apt/cache/archives/*.deb
	(cd "$at/root" && rm -rf dev && mkdir -p dev proc sys tmp run root home/user etc new)
	printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$at/root/etc/passwd"
	printf 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n' >"$at/root/etc/group"
	: >"$at/fetched"
}

# tests are built statically, and lie where they are started: in the directories of their packages.
tests() { # architecture
	[ ! -e "$dir/tests-$1/done" ] || return 0
	to=$dir/tests-$1/jptools
	rm -rf "$dir/tests-$1"
	mkdir -p "$to/bin" "$to/docs"
	cp docs/sandbox.md "$to/docs/"
	export CGO_ENABLED=0 GOARCH="$1"
	go build -trimpath -ldflags='-s -w' -o "$to/bin/" github.com/jptools/jptools/tools/...
	go build -trimpath -ldflags='-s -w' -o "$to/bin/jphost" github.com/jptools/jptools/host
	for p in $(cat scripts/kernels-packages); do
		mkdir -p "$to/$p"
		go test -c -ldflags='-s -w' -o "$to/$p/test" "./$p"
	done
	cp scripts/kernels-packages "$to/packages"
	mkdir -p "$to/host"
	go test -c -ldflags='-s -w' -o "$to/host/test" ./host
	unset GOARCH
	: >"$dir/tests-$1/done"
}

boot() { # architecture
	install -m 755 scripts/kernels-init.sh "$at/root/init"
	(
		cd "$at/root"
		find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet
		cd "$dir/tests-$1"
		find jptools -print0 | cpio -0 -o -H newc -R 0:0 --quiet
	) | gzip -1 >"$at/initrd"
	# Without cmpxchg16b, which older emulators get wrong: kernels that use it die.
	emulator=qemu-system-x86_64 machine=q35 cpu=max,-cx16 console=ttyS0
	if [ "$1" = arm64 ]; then
		emulator=qemu-system-aarch64 machine=virt cpu=max,pauth-impdef=on console=ttyAMA0
	fi
	for _ in 1 2 3; do # an emulated kernel sometimes dies before it has begun
		emulate "$emulator" "$machine" "$cpu" "$console"
		! grep -q '^-- Linux' "$at/log" || break
	done
	rm "$at/initrd"
}

emulate() { # program, machine, processor, console
	timeout 3600 "$1" -machine "$2" -accel "${KERNELS_ACCEL:-tcg,thread=single}" -cpu "$3" -m 3000 -smp 2 -nodefaults -display none -no-reboot \
		-serial "file:$at/log" -kernel "$at/vmlinuz" -initrd "$at/initrd" -append "console=$4 quiet panic=-1 rdinit=/init jptools.skip=$slow" </dev/null || :
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -rf "$dir"/tests-*
failed=
for k in $kernels; do
	at=$dir/$(echo "$k" | tr / -)
	fetch "${k%/*}" "${k#*/}"
	tests "${k#*/}"
	echo "== $k"
	boot "${k#*/}"
	tr -d '\r' <"$at/log" | sed -n '/-- Linux/,$p'
	grep -q '^-- all passed' "$at/log" || failed="$failed $k"
done
[ -z "$failed" ] || { echo "failed:$failed; what the kernel and the tests said is in $dir" >&2 && exit 1; }
