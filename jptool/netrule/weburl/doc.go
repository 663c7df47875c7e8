// Package weburl reads absolute URLs and host names the way browsers do (WHATWG
// URL Standard), so that a rule and a target mean the same host and path however
// either is spelled (RFD 076, "Network rules"). It does no I/O and resolves no name.
//
// It accepts less than the standard, never more. Refused are:
//
//   - URLs that name no host (file:, data:, mailto:) and relative references;
//   - hosts with an empty label, hosts longer than DNS can hold, and names that the
//     versions of Unicode in use today read differently (U+1E9E);
//   - URLs longer than [MaxLength], and URLs that are not UTF-8;
//   - a backslash in the authority of a scheme that the standard does not call special,
//     because clients disagree on what it ends.
//
// Hosts of those schemes are read as domain names too, where the standard keeps them as
// opaque text: DNS ignores case, and a rule on github.com has to catch git://GITHUB.com.
//
// It does not stop a client that reads URLs differently from reaching something
// else than what was judged. A caller that must be sure sends [URL.String], not the
// text it was given.
package weburl
