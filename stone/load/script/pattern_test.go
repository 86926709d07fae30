package script

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Parts of patterns, each in Lua's and in Go's notation, which find the same.
var parts = [][2]string{
	{"a", "a"}, {"b", "b"}, {"1", "1"}, {".", "(?s:.)"}, {"%d", "[0-9]"}, {"%D", "[^0-9]"}, {"%a", "[A-Za-z]"}, {"%s", "[\\t-\\r ]"},
	{"%w", "[0-9A-Za-z]"}, {"%p", "[!-/:-@\\[-`{-~]"}, {"%u", "[A-Z]"}, {"%x", "[0-9a-fA-F]"}, {"%.", "\\."}, {"%%", "%"},
	{"[ab]", "[ab]"}, {"[^a%d]", "[^a0-9]"}, {"[a-c1]", "[a-c1]"}, {"[%a_]", "[A-Za-z_]"}, {"[]-]", "[\\]-]"}, {"[^]]", "[^\\]]"},
}

var suffixes = [][2]string{{"", ""}, {"*", "*"}, {"+", "+"}, {"-", "*?"}, {"?", "?"}}

// written is a pattern in both notations, made of the choices that the bytes say.
func written(choices []byte) (pattern, expression string) {
	open := 0
	for i, c := range choices {
		switch {
		case i == 0 && c%4 == 0:
			pattern, expression = "^", "^"
		case c%16 == 13 && open < 3:
			pattern, expression, open = pattern+"(", expression+"(", open+1
		case c%16 == 14 && open > 0:
			pattern, expression, open = pattern+")", expression+")", open-1
		case c%16 == 15:
			pattern, expression = pattern+"()", expression+"()"
		case i == len(choices)-1 && open == 0 && c%4 == 1:
			pattern, expression = pattern+"$", expression+"$"
		default:
			part, suffix := parts[int(c)%len(parts)], suffixes[int(c/16)%len(suffixes)]
			pattern, expression = pattern+part[0]+suffix[0], expression+part[1]+suffix[1]
		}
	}
	return pattern + strings.Repeat(")", open), expression + strings.Repeat(")", open)
}

// Patterns find what Go's regular expressions find, captures and all: backtracking tries in the same order.
func FuzzPattern(f *testing.F) {
	f.Add([]byte{1, 13, 35, 14, 50, 15, 1}, "ab1 ab_[]%.")
	f.Add([]byte{0, 16, 32, 48, 64, 80}, "aab1b")
	f.Add([]byte{13, 13, 19, 14, 14, 15}, "")
	f.Add([]byte{2, 13, 51, 14, 13, 19, 14, 5}, "a\x00\xff1]-")
	m := newMachine(&Options{Path: "fuzz.lua", deadline: time.Hour, memory: 1 << 30}, 0)
	f.Cleanup(m.state.Close)
	f.Fuzz(func(t *testing.T, choices []byte, source string) {
		if len(choices) > 8 || len(source) > 16 || strings.ContainsFunc(source, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Skip("short ones say enough; Lua matches bytes and Go characters, which are the same in ASCII alone")
		}
		pattern, expression := written(choices)
		want := "none"
		if at := regexp.MustCompile(expression).FindStringSubmatchIndex(source); at != nil {
			want = fmt.Sprint(at)
		}
		m.watch.begin()
		p := m.matcher(m.state, source, pattern)
		got := "none"
		if from, end := p.search(0); end >= 0 {
			at := []int{from, end}
			for _, c := range p.captures {
				at = append(at, c.start, max(c.start, c.end)) // a position is an empty group
			}
			got = fmt.Sprint(at)
		}
		if got != want {
			t.Errorf("%q in %q: %s, want %s (as %s)", pattern, source, got, want, expression)
		}
	})
}

func TestMistakesInPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"%":                             `the pattern "%" ends with %`,
		"a[b":                           `the pattern "a[b" lacks a ]`,
		"[%":                            `the pattern "[%" lacks a ]`,
		"[]":                            `the pattern "[]" lacks a ]`,
		"(a":                            `the pattern "(a" has a ( without a )`,
		"a)":                            `the pattern "a)" has a ) without a (`,
		"%1":                            `the pattern "%1" refers to capture %1, which is none`,
		"(%1)":                          `the pattern "(%1)" refers to capture %1, which is none`,
		"%bx":                           `the pattern "%bx" ends within %b`,
		"%fa":                           `the pattern "%fa" lacks a [set] after %f`,
		"%f":                            `the pattern "%f" ends too early`,
		strings.Repeat("()", 33):        `the pattern "` + strings.Repeat("()", 33) + `" has more than 32 captures`,
		"." + strings.Repeat("a-", 300): `the pattern "` + "." + strings.Repeat("a-", 39) + `a..." is too complex`,
	} {
		_, err := try(t, Options{}, fmt.Sprintf("return string.match('aaa', %q)", pattern))
		if err == nil || err.Error() != "test.lua:1: "+want {
			t.Errorf("%q: %v, want %s", pattern, err, want)
		}
	}
}

// A pattern that would take for ever is ended like a loop.
func TestEndlessPatternsEnd(t *testing.T) {
	for _, call := range []string{
		`s:find(("a*"):rep(30) .. "b")`, `s:match(("a-"):rep(30) .. "b")`, `s:gsub(("a?"):rep(100) .. "b", "")`,
		`for x in s:gmatch(("a*"):rep(30) .. "b") do end`,
	} {
		_, err := try(t, Options{deadline: 30 * time.Millisecond}, `local s = ("a"):rep(200) `+call)
		if want := "test.lua:1: loading the script ran for more than 0.03 s"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", call, err, want)
		}
	}
}

func TestPatternsOnLongTexts(t *testing.T) {
	got := printed(t, Options{}, `
local s = ("a"):rep(3000000)
print(#s:match(".*"), #s:match("(a-)$"), s:find("a+b?$"), s:find("b"), #s:gsub("a", "bb"))`)
	if want := "3000000\t3000000\t1\tnil\t6000000\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
