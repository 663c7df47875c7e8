package ignore

import (
	"strings"
	"testing"
)

// kernelLike has the mix of patterns of the file at the root of the Linux tree.
const kernelLike = ".*\n*.a\n*.asn1.[ch]\n*.bin\n*.bz2\n*.c.[012]*.*\n*.dt.yaml\n*.dtb\n*.dtbo\n*.dwo\n*.elf\n*.gcno\n*.gz\n*.i\n*.ko\n" +
	"*.lex.c\n*.ll\n*.lst\n*.lz4\n*.lzma\n*.lzo\n*.mod\n*.mod.c\n*.o\n*.o.*\n*.patch\n*.rmeta\n*.s\n*.so\n*.so.dbg\n*.su\n" +
	"*.symtypes\n*.tab.[ch]\n*.tar\n*.xz\n*.zst\nModule.symvers\nmodules.order\n/linux\n/modules-only.symvers\n/vmlinux\n" +
	"/vmlinux.32\n/vmlinux-gdb.py\n/vmlinuz\n/System.map\n/Module.markers\n/modules.builtin\n/debian/\n/snap/\n/tar-install/\n" +
	"!.clang-format\n!.cocciconfig\n!.get_maintainer.ignore\n!.gitattributes\n!.gitignore\n!.mailmap\n/include/config\n" +
	"/include/generated\n/include/ksym\n/arch/*/include/generated\n/patches-*\npatches\nseries\ncscope.*\nncscope.*\ngtags\n" +
	"*.orig\n*~\n\\#*#\nextra_certificates\nsigning_key.pem\nx509.genkey\n/allmod.config\n/kconfig/\nsphinx_*/\n"

func kernelStack() *Stack {
	s := stackOf(kernelLike)
	s = s.Push("drivers/net", Parse([]byte("/generated\n*.tmp\n")))
	return s.Push("drivers/net/ethernet", Parse([]byte("build/\n!keep.o\n")))
}

var benchPaths = []string{
	"drivers/net/ethernet/intel/ice/ice_main.c",
	"drivers/net/ethernet/intel/ice/ice_main.o",
	"drivers/net/ethernet/intel/ice/Makefile",
	"drivers/net/ethernet/intel/ice/.ice_main.o.cmd",
	"drivers/net/ethernet/keep.o",
	"drivers/net/ethernet/intel/devlink",
	"include/generated/autoconf.h",
	"drivers/net/ethernet/intel/ice/vmlinux.lds.S",
}

var sink Decision

func BenchmarkMatch(b *testing.B) {
	stacks := []struct {
		name string
		s    *Stack
	}{
		{"none", nil},
		{"one file of 3", stackOf("node_modules/\n*.log\n/dist\n")},
		{"one file of 84", stackOf(kernelLike)},
		{"three files", kernelStack()},
	}
	for _, bb := range stacks {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				sink = bb.s.Match(benchPaths[i&7], false)
				i++
			}
		})
	}
}

func BenchmarkMatchWithParents(b *testing.B) {
	s := kernelStack()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.MatchWithParents(benchPaths[i&7], false)
		i++
	}
}

func BenchmarkGlobs(b *testing.B) {
	g, err := ParseGlobs([]string{".git/", "**/target/", "*.pem", ".env*"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Match", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			g.Match(benchPaths[i&7])
			i++
		}
	})
	b.Run("MatchEntry", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			g.MatchEntry(benchPaths[i&7])
			i++
		}
	})
}

func BenchmarkParse(b *testing.B) {
	data := []byte(kernelLike)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Parse(data)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	s := kernelStack()
	g, err := ParseGlobs([]string{".git/", "a/**/b*c[d-f]"})
	if err != nil {
		t.Fatal(err)
	}
	paths := append([]string{"a/b/bac", strings.Repeat("deep/", 50) + "x.tab.c"}, benchPaths...)
	got := testing.AllocsPerRun(100, func() {
		for _, p := range paths {
			s.Match(p, false)
			s.MatchWithParents(p, true)
			g.Match(p)
			g.MatchEntry(p)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
