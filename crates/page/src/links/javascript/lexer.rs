//! Splits JavaScript into tokens, as far as it takes to tell code from comments, strings, templates
//! and regular expressions.
//!
//! Total and linear: every text gives tokens, and no byte is read more than twice. Whether `/`
//! begins a regular expression is decided by the token before it. A wrong decision ends with the
//! line, because a regular expression does.

use std::ops::Range;

/// Brackets, braces and templates inside each other. Code that people or tools write is less deep.
const MAX_NESTING: usize = 10_000;

/// Words behind which an operand follows, so that `/` begins a regular expression.
const WORDS_BEFORE_OPERAND: [&str; 17] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "import",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// Words whose parentheses are no operand.
const WORDS_BEFORE_CONDITION: [&str; 4] = ["for", "if", "while", "with"];

/// A token of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JavaScriptToken {
    /// A name or a keyword.
    Word(Range<usize>),
    /// A string or a template without substitutions, with its quotes.
    Text(Range<usize>),
    /// One character of punctuation.
    Punctuation(u8),
    /// A number, a regular expression, a part of a template, or an unfinished string.
    Other,
}

/// What a closing bracket belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBracket {
    Condition,
    Group,
    Block,
    Object,
    Substitution,
}

/// The token before, as far as it decides about the next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PreviousToken {
    Start,
    Word(Range<usize>),
    Punctuation(u8),
    Arrow,
    Operand,
}

/// Reads the tokens of a script.
pub(super) struct ScriptLexer<'a> {
    text: &'a str,
    at: usize,
    previous: PreviousToken,
    /// Whether the next token is an operand, and not an operator.
    expects_operand: bool,
    open: Vec<OpenBracket>,
    /// Up to here `/` is a division: the line has no end of a regular expression.
    no_expression_before: usize,
    /// Whether the script was too deep to be read to its end.
    pub(super) is_cut: bool,
}

impl<'a> ScriptLexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            previous: PreviousToken::Start,
            expects_operand: true,
            open: Vec::new(),
            no_expression_before: 0,
            is_cut: false,
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(prefix.as_bytes())
    }

    /// Skips to a byte behind the next occurrence of `end`, or to the end.
    fn skip_past(&mut self, end: &str) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at = memchr::memmem::find(rest, end.as_bytes())
            .map_or(self.text.len(), |found| self.at + found + end.len());
    }

    fn skip_space_and_comments(&mut self) {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t'..=b'\r' => self.at += 1,
                b'/' if self.starts_with("//") => self.skip_past("\n"),
                b'/' if self.starts_with("/*") => {
                    self.at += 2;
                    self.skip_past("*/");
                }
                b'<' if self.starts_with("<!--") => self.skip_past("\n"),
                b'#' if self.at == 0 && self.starts_with("#!") => self.skip_past("\n"),
                0x80.. => match self.text[self.at..].chars().next() {
                    Some(letter) if letter.is_whitespace() || letter == '\u{feff}' => {
                        self.at += letter.len_utf8()
                    }
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// The next token.
    pub(super) fn next_token(&mut self) -> Option<JavaScriptToken> {
        self.skip_space_and_comments();
        let start = self.at;
        let byte = self.byte(0)?;
        match byte {
            b'"' | b'\'' => Some(self.string(byte)),
            b'`' => {
                self.at += 1;
                Some(self.template(start))
            }
            b'0'..=b'9' => Some(self.number()),
            b'.' if self.byte(1).is_some_and(|next| next.is_ascii_digit()) => Some(self.number()),
            b'/' if self.expects_operand
                && start >= self.no_expression_before
                && self.regular_expression() =>
            {
                Some(self.operand(JavaScriptToken::Other))
            }
            _ if is_name_byte(byte) => Some(self.word()),
            _ => self.punctuation(byte),
        }
    }

    fn operand(&mut self, token: JavaScriptToken) -> JavaScriptToken {
        self.previous = PreviousToken::Operand;
        self.expects_operand = false;
        token
    }

    fn string(&mut self, quote: u8) -> JavaScriptToken {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.at += if self.starts_with("\\\r\n") { 3 } else { 2 },
                b'\n' | b'\r' => break,
                _ => self.at += 1,
            }
            if byte == quote {
                return self.operand(JavaScriptToken::Text(start..self.at));
            }
        }
        self.at = self.at.min(self.text.len());
        self.operand(JavaScriptToken::Other)
    }

    /// Reads a template to its end or to its next substitution. `start` is the place of its first
    /// quote, or of the brace that ended a substitution.
    fn template(&mut self, start: usize) -> JavaScriptToken {
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    let is_whole = self.text.as_bytes()[start] == b'`';
                    let token =
                        if is_whole { JavaScriptToken::Text(start..self.at) } else { JavaScriptToken::Other };
                    return self.operand(token);
                }
                b'$' if self.byte(1) == Some(b'{') => {
                    self.at += 2;
                    self.push(OpenBracket::Substitution);
                    self.previous = PreviousToken::Start;
                    self.expects_operand = true;
                    return JavaScriptToken::Other;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.text.len();
        self.operand(JavaScriptToken::Other)
    }

    fn number(&mut self) -> JavaScriptToken {
        while self.byte(0).is_some_and(|byte| is_name_byte(byte) || byte == b'.') {
            self.at += 1;
        }
        self.operand(JavaScriptToken::Other)
    }

    /// Skips a regular expression. False if there is none, because the line ends before it does.
    fn regular_expression(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let (mut at, mut in_class) = (self.at + 1, false);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' | b'\r' => break,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    let flags = bytes[at + 1..].iter().take_while(|byte| is_name_byte(**byte)).count();
                    self.at = at + 1 + flags;
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        self.no_expression_before = at;
        false
    }

    fn word(&mut self) -> JavaScriptToken {
        let start = self.at;
        while self.byte(0).is_some_and(is_name_byte) {
            self.at += 1;
        }
        let range = start..self.at;
        let is_member = self.previous == PreviousToken::Punctuation(b'.');
        self.expects_operand = !is_member && WORDS_BEFORE_OPERAND.contains(&&self.text[range.clone()]);
        self.previous = if is_member { PreviousToken::Operand } else { PreviousToken::Word(range.clone()) };
        JavaScriptToken::Word(range)
    }

    fn punctuation(&mut self, byte: u8) -> Option<JavaScriptToken> {
        self.at += 1;
        match byte {
            b'(' | b'[' | b'{' => self.push(self.bracket(byte)),
            b')' | b']' | b'}' => {
                let closed = self.open.pop();
                if byte == b'}' && closed == Some(OpenBracket::Substitution) {
                    return Some(self.template(self.at - 1));
                }
                self.previous = PreviousToken::Punctuation(byte);
                self.expects_operand = matches!(closed, Some(OpenBracket::Condition | OpenBracket::Block));
                return Some(JavaScriptToken::Punctuation(byte));
            }
            // An operand stays one with `++` behind it.
            b'+' | b'-' if self.byte(0) == Some(byte) => {
                self.at += 1;
                return Some(JavaScriptToken::Punctuation(byte));
            }
            _ => {}
        }
        let is_arrow = byte == b'=' && self.byte(0) == Some(b'>');
        self.at += usize::from(is_arrow);
        self.previous = if is_arrow { PreviousToken::Arrow } else { PreviousToken::Punctuation(byte) };
        self.expects_operand = true;
        Some(JavaScriptToken::Punctuation(byte))
    }

    /// What an opening bracket begins.
    fn bracket(&self, byte: u8) -> OpenBracket {
        let word = match &self.previous {
            PreviousToken::Word(range) => Some(&self.text[range.clone()]),
            _ => None,
        };
        match byte {
            b'(' if word.is_some_and(|word| WORDS_BEFORE_CONDITION.contains(&word)) => OpenBracket::Condition,
            b'(' | b'[' => OpenBracket::Group,
            _ => match &self.previous {
                PreviousToken::Word(_) if matches!(word, Some("else" | "do")) => OpenBracket::Block,
                PreviousToken::Word(_) if self.expects_operand => OpenBracket::Object,
                PreviousToken::Punctuation(b':') if self.open.last() != Some(&OpenBracket::Object) => {
                    OpenBracket::Block
                }
                PreviousToken::Punctuation(b';' | b'{' | b'}' | b')') => OpenBracket::Block,
                PreviousToken::Punctuation(_) => OpenBracket::Object,
                PreviousToken::Start if self.open.last() == Some(&OpenBracket::Substitution) => {
                    OpenBracket::Object
                }
                _ => OpenBracket::Block,
            },
        }
    }

    fn push(&mut self, bracket: OpenBracket) {
        if self.open.len() < MAX_NESTING {
            self.open.push(bracket);
        } else {
            self.is_cut = true;
            self.at = self.text.len();
        }
    }
}

/// Whether a byte is part of a name. Letters outside ASCII are.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'\\' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The strings and whole templates of a script.
    fn texts(script: &str) -> Vec<&str> {
        let mut lexer = ScriptLexer::new(script);
        let mut found = Vec::new();
        while let Some(token) = lexer.next_token() {
            if let JavaScriptToken::Text(range) = token {
                found.push(&script[range]);
            }
        }
        found
    }

    #[test]
    fn strings_are_told_from_comments_templates_and_expressions() {
        for (script, wanted) in [
            ("a = 'b' // 'c'\n + \"d\"", &["'b'", "\"d\""][..]),
            ("/* 'a' */ 'b' /* 'c", &["'b'"]),
            (
                r"'it\'s' + 'on\
e'",
                &[r"'it\'s'", "'on\\\ne'"],
            ),
            ("`a` + `b${'c' + `d${'e'}`}f` + 'g'", &["`a`", "'c'", "'e'", "'g'"]),
            (r"x = /'/.test('a')", &["'a'"]),
            (r"x = /[/']\/'/g.test('a')", &["'a'"]),
            ("x = a / b / 'c'", &["'c'"]),
            ("if (x) /'/.test('a')", &["'a'"]),
            ("f(x) / 'a' / 2", &["'a'"]),
            ("function f() {} /'/.test('a')", &["'a'"]),
            ("x = {a: {b: 1} / 'c'}", &["'c'"]),
            ("x = y[0] / 'c' / 1", &["'c'"]),
            ("x++ / 'a' / 2", &["'a'"]),
            ("return /'/", &[]),
            ("a.return / 'b' / 1", &["'b'"]),
            ("() => { } /'/.test('a')", &["'a'"]),
            ("`${{a: 'b'}}` + 'c'", &["'b'", "'c'"]),
            ("'open\n'next'", &["'next'"]),
            ("1.5e3 / 'a' / .5", &["'a'"]),
            ("<!-- 'a'\n'b'", &["'b'"]),
            ("#!/usr/bin/env node 'a'\n'b'", &["'b'"]),
            ("x = a /[b / 'c'\n'd'", &["'c'", "'d'"]),
        ] {
            assert_eq!(texts(script), wanted, "{script}");
        }
    }

    #[test]
    fn unfinished_and_deep_scripts_end() {
        for script in ["'", "\"\\", "`", "`${", "/", "/[", "/*", "//", "\\", "`\\", "a/", "}", ")", "]"] {
            texts(script);
        }
        for piece in ["(", "{", "`${", "/[", "a/", "[/", "=>{", "}", "/a/"] {
            texts(&piece.repeat(200_000));
        }
        let mut lexer = ScriptLexer::new("((((");
        lexer.open = vec![OpenBracket::Group; MAX_NESTING];
        assert_eq!((lexer.next_token().is_some(), lexer.next_token(), lexer.is_cut), (true, None, true));
    }

    proptest! {
        #[test]
        fn every_script_ends(script in "[a'\"`$\\{\\}()\\[\\]/\\\\*\n=>+.;:,é1 ]{0,80}") {
            texts(&script);
        }

        /// A string is found whatever stands before it, if that is complete.
        #[test]
        fn a_string_after_a_statement_is_found(before in prop::sample::select(vec![
            "x = 1;", "/a'b/.test(x);", "`a${b}'`;", "// '\n", "/* ' */", "f(a / b);", "if (a) { b }", "'c';", "({}) / 2;",
            "switch (a) { case 1: { b } }", "label: { a }", "x = a ? {} : {};", "for (;;) {}", "a = b\n++c;", "\"\\\"\";",
        ]).prop_flat_map(|first| prop::collection::vec(Just(first), 0..6))) {
            let script = format!("{}\n'found'", before.join("\n"));
            prop_assert_eq!(texts(&script).last().copied(), Some("'found'"));
        }
    }
}
