package script

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

const (
	maxDepth    = 10_000 // depth of nested expressions and blocks; the compiler recurses
	maxOperands = 50     // operands of one call of joinName
	joinName    = "(..)" // no script can use this name
)

// compile makes a program of Lua text. Running the program, with the function that joins strings as its argument, gives
// the function that the text is. Concatenation becomes a call of ours because the library's own writes numbers in
// another way than Lua (0.1 + 0.2 is "0.3" there) and puts no limit on a string's length.
func (m *machine) compile(source, name string) (program *lua.FunctionProto, err error) {
	statements, err := parse.Parse(strings.NewReader(plain(source)), name)
	if err != nil {
		return nil, syntaxError(err, name, source)
	}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case tooDeep:
			program, err = nil, &Error{name, int(failed), fmt.Sprintf("nested more than %d levels deep", maxDepth)}
		default: // the library's compiler gives up on some texts that its parser takes
			program, err = nil, &Error{name, 0, fmt.Sprintf("cannot be compiled: %v", failed)}
		}
	}()
	r := &rewriter{}
	r.block(statements)
	body := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: true}, Stmts: statements}
	body.SetLastLine(strings.Count(source, "\n") + 1)
	join := &ast.LocalAssignStmt{Names: []string{joinName}, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	program, err = lua.Compile([]ast.Stmt{join, &ast.ReturnStmt{Exprs: []ast.Expr{body}}}, name)
	if err != nil {
		return nil, syntaxError(err, name, source)
	}
	return program, nil
}

// plain takes away what an editor or a shell put before the text, and writes \xHH in strings as Lua 5.1 does.
func plain(source string) string {
	source = strings.TrimPrefix(source, "\ufeff")
	if strings.HasPrefix(source, "#") {
		source = "--" + source
	}
	if !strings.Contains(source, `\x`) {
		return source
	}
	return decimalEscapes(source)
}

type tooDeep int // the line

// rewriter replaces every a .. b .. c by a call, in place.
type rewriter struct{ depth int }

func (r *rewriter) enter(line int) {
	if r.depth++; r.depth > maxDepth {
		panic(tooDeep(line))
	}
}

func (r *rewriter) block(statements []ast.Stmt) {
	for _, s := range statements {
		r.enter(s.Line())
		r.statement(s)
		r.depth--
	}
}

func (r *rewriter) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.list(s.Lhs)
		r.list(s.Rhs)
	case *ast.LocalAssignStmt:
		r.list(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = r.expression(s.Expr)
	case *ast.DoBlockStmt:
		r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Then)
		r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = r.expression(s.Init), r.expression(s.Limit), r.expression(s.Step)
		r.block(s.Stmts)
	case *ast.GenericForStmt:
		r.list(s.Exprs)
		r.block(s.Stmts)
	case *ast.FuncDefStmt:
		s.Name.Func, s.Name.Receiver = r.expression(s.Name.Func), r.expression(s.Name.Receiver)
		r.block(s.Func.Stmts)
	case *ast.ReturnStmt:
		r.list(s.Exprs)
	}
}

func (r *rewriter) list(expressions []ast.Expr) {
	for i, e := range expressions {
		expressions[i] = r.expression(e)
	}
}

func (r *rewriter) expression(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	r.enter(e.Line())
	defer func() { r.depth-- }()
	switch e := e.(type) {
	case *ast.StringConcatOpExpr:
		return r.join(e)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expression(e.Object), r.expression(e.Key)
	case *ast.TableExpr:
		for _, field := range e.Fields {
			field.Key, field.Value = r.expression(field.Key), r.expression(field.Value)
		}
	case *ast.FuncCallExpr:
		e.Func, e.Receiver = r.expression(e.Func), r.expression(e.Receiver)
		r.list(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.FunctionExpr:
		r.block(e.Stmts)
	}
	return e
}

// join makes one call of a whole chain a .. b .. c.
func (r *rewriter) join(e *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	var last ast.Expr = e
	for {
		chain, ok := last.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		operands = append(operands, r.expression(chain.Lhs))
		last = chain.Rhs
	}
	operands = append(operands, r.expression(last))
	for len(operands) > maxOperands { // a call has only so many registers
		var groups []ast.Expr
		for group := range slices.Chunk(operands, maxOperands) {
			groups = append(groups, joinCall(e.Line(), group))
		}
		operands = groups
	}
	return joinCall(e.Line(), operands)
}

func joinCall(line int, operands []ast.Expr) ast.Expr {
	switch last := operands[len(operands)-1].(type) { // one value, however many a call or ... gives
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	call := &ast.FuncCallExpr{Func: &ast.IdentExpr{Value: joinName}, Args: operands, AdjustRet: true}
	call.SetLine(line)
	call.Func.SetLine(line)
	return call
}
