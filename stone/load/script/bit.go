package script

import (
	"fmt"
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// bitFunctions are LuaJIT's bit library: numbers are taken modulo 2^32, results are signed.
var bitFunctions = map[string]lua.LGFunction{
	"tobit":   unary(func(x uint32) uint32 { return x }),
	"bnot":    unary(func(x uint32) uint32 { return ^x }),
	"bswap":   unary(bits.ReverseBytes32),
	"band":    folded(func(x, y uint32) uint32 { return x & y }),
	"bor":     folded(func(x, y uint32) uint32 { return x | y }),
	"bxor":    folded(func(x, y uint32) uint32 { return x ^ y }),
	"lshift":  shifted(func(x uint32, n int) uint32 { return x << n }),
	"rshift":  shifted(func(x uint32, n int) uint32 { return x >> n }),
	"arshift": shifted(func(x uint32, n int) uint32 { return uint32(int32(x) >> n) }),
	"rol":     shifted(bits.RotateLeft32),
	"ror":     shifted(func(x uint32, n int) uint32 { return bits.RotateLeft32(x, -n) }),
	"tohex":   toHex,
}

// word is an argument modulo 2^32.
func word(L *lua.LState, argument int) uint32 {
	x := math.RoundToEven(float64(L.CheckNumber(argument)))
	return uint32(int64(math.Mod(x, 1<<32)))
}

func pushWord(L *lua.LState, x uint32) int {
	L.Push(lua.LNumber(int32(x)))
	return 1
}

func unary(operation func(uint32) uint32) lua.LGFunction {
	return func(L *lua.LState) int { return pushWord(L, operation(word(L, 1))) }
}

func folded(operation func(x, y uint32) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		result := word(L, 1)
		for i := 2; i <= L.GetTop(); i++ {
			result = operation(result, word(L, i))
		}
		return pushWord(L, result)
	}
}

func shifted(operation func(x uint32, n int) uint32) lua.LGFunction {
	return func(L *lua.LState) int { return pushWord(L, operation(word(L, 1), int(word(L, 2)&31))) }
}

// toHex is bit.tohex(x, digits): 8 digits by default, in capitals if negative.
func toHex(L *lua.LState) int {
	x, digits, form := word(L, 1), L.OptInt(2, 8), "%08x"
	if digits < 0 {
		digits, form = -digits, "%08X"
	}
	hex := fmt.Sprintf(form, x)
	L.Push(lua.LString(hex[8-min(digits, 8):]))
	return 1
}
