//! What a script needs to run: the modules that it imports and the workers that it starts, where
//! they are named by a string.
//!
//! | in a script | named by |
//! | --- | --- |
//! | `import 'a'`, `import b from 'a'`, `export * from 'a'`, `import('a')` | a module specifier |
//! | `new URL('a', import.meta.url)`, `importScripts('a', 'b')` | a URL, relative to the script |
//! | `new Worker('a')`, `new SharedWorker('a')` | a URL, relative to the page |
//!
//! The page of a script file is not known here: URLs of its workers are taken as relative to the file,
//! and bare specifiers in it are not resolved. The page itself brings everything that its import map
//! names in full.
//!
//! Scripts are not run: a name that is computed is not found. Absolute addresses in other strings
//! are guesses, and are read by [`script`](super::script).

mod import_map;
mod lexer;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

pub(super) use import_map::ImportMap;
use lexer::{JavaScriptToken, ScriptLexer};

use super::emit::{LinkEmitter, RawLink};
use super::link::{LinkPlace, LinkRole};

/// Words without which a script needs nothing.
const WORDS_OF_INTEREST: [&str; 3] = ["import", "export", "Worker"];

/// Objects that may stand before the name of a global.
const GLOBAL_OBJECTS: [&str; 3] = ["self", "window", "globalThis"];

/// Something that a script needs.
#[derive(Debug, PartialEq, Eq)]
struct ScriptReference<'a> {
    text: Cow<'a, str>,
    /// Whether it is a module specifier, and not a URL.
    is_specifier: bool,
    /// The place of the text in the script.
    start: usize,
}

/// Emits what a script needs. `offset` is the offset of the script in the body.
pub(super) fn links(
    script: &str,
    offset: Option<u64>,
    place: &LinkPlace<'_>,
    map: &ImportMap,
    emitter: &mut LinkEmitter<'_>,
) {
    let is_cut = references(script, &mut |found| {
        let resolved =
            if found.is_specifier { map.resolve(&found.text, &emitter.base) } else { Some(found.text) };
        if let Some(reference) = resolved {
            let offset = offset.map(|offset| offset + found.start as u64);
            emitter.emit(RawLink::new(&reference, place.clone(), LinkRole::Embed).at(offset));
        }
    });
    emitter.report.cut += u64::from(is_cut);
}

/// Passes everything that a script needs to `each`. True if the script was not read to its end.
fn references<'a>(script: &'a str, each: &mut dyn FnMut(ScriptReference<'a>)) -> bool {
    if !WORDS_OF_INTEREST
        .iter()
        .any(|word| memchr::memmem::find(script.as_bytes(), word.as_bytes()).is_some())
    {
        return false;
    }
    let mut reader =
        ReferenceReader { script, lexer: ScriptLexer::new(script), ahead: VecDeque::new(), each };
    reader.read();
    reader.lexer.is_cut
}

/// Recognises references in the tokens of a script.
struct ReferenceReader<'a, 'e> {
    script: &'a str,
    lexer: ScriptLexer<'a>,
    /// Tokens that were looked at and not taken. At most a dozen.
    ahead: VecDeque<JavaScriptToken>,
    each: &'e mut dyn FnMut(ScriptReference<'a>),
}

impl<'a> ReferenceReader<'a, '_> {
    fn read(&mut self) {
        let mut is_member = false;
        while let Some(token) = self.take() {
            let was_member = std::mem::replace(&mut is_member, token == JavaScriptToken::Punctuation(b'.'));
            let JavaScriptToken::Word(range) = token else { continue };
            match &self.script[range] {
                "importScripts" => self.arguments(),
                _ if was_member => {}
                "import" => self.import(),
                "export" => self.clause(|token| matches!(token, JavaScriptToken::Punctuation(b'*' | b'{'))),
                "new" => self.constructor(),
                _ => {}
            }
        }
    }

    fn take(&mut self) -> Option<JavaScriptToken> {
        self.ahead.pop_front().or_else(|| self.lexer.next_token())
    }

    fn peek(&mut self, index: usize) -> Option<&JavaScriptToken> {
        while self.ahead.len() <= index {
            let token = self.lexer.next_token()?;
            self.ahead.push_back(token);
        }
        self.ahead.get(index)
    }

    fn is_punctuation(&mut self, index: usize, byte: u8) -> bool {
        self.peek(index) == Some(&JavaScriptToken::Punctuation(byte))
    }

    /// The word at an index; empty if there is none.
    fn word(&mut self, index: usize) -> &'a str {
        let script = self.script;
        match self.peek(index) {
            Some(JavaScriptToken::Word(range)) => &script[range.clone()],
            _ => "",
        }
    }

    /// The string at an index, if it is a whole argument: `,` or `)` follows.
    fn argument(&mut self, index: usize) -> Option<Range<usize>> {
        let Some(JavaScriptToken::Text(range)) = self.peek(index).cloned() else { return None };
        (self.is_punctuation(index + 1, b',') || self.is_punctuation(index + 1, b')')).then_some(range)
    }

    fn emit(&mut self, range: Range<usize>, is_specifier: bool) {
        let start = range.start + 1;
        let text = unescape(&self.script[start..range.end - 1]);
        (self.each)(ScriptReference { text, is_specifier, start });
    }

    /// Behind `import`: a string, an argument, or a clause that ends with `from` and a string.
    fn import(&mut self) {
        if let Some(JavaScriptToken::Text(range)) = self.peek(0).cloned() {
            return self.emit(range, true);
        }
        if self.is_punctuation(0, b'(') {
            if let Some(range) = self.argument(1) {
                self.emit(range, true);
            }
            return;
        }
        self.clause(|token| {
            matches!(token, JavaScriptToken::Word(_) | JavaScriptToken::Punctuation(b'*' | b'{'))
        });
    }

    /// Reads names up to `from` and a string, if the next token can begin them.
    fn clause(&mut self, begins: impl Fn(&JavaScriptToken) -> bool) {
        if !self.peek(0).is_some_and(begins) {
            return;
        }
        let mut in_braces = false;
        loop {
            let Some(token) = self.peek(0).cloned() else { return };
            match token {
                JavaScriptToken::Word(range) if !in_braces => match &self.script[range] {
                    "from" => {
                        if let Some(JavaScriptToken::Text(range)) = self.peek(1).cloned() {
                            return self.emit(range, true);
                        }
                    }
                    // These begin another statement.
                    "import" | "export" | "new" => return,
                    _ => {}
                },
                JavaScriptToken::Punctuation(b'{') if !in_braces => in_braces = true,
                JavaScriptToken::Punctuation(b'}') if in_braces => in_braces = false,
                JavaScriptToken::Punctuation(b',') => {}
                JavaScriptToken::Punctuation(b'*') if !in_braces => {}
                JavaScriptToken::Word(_) | JavaScriptToken::Text(_) if in_braces => {}
                _ => return,
            }
            self.take();
        }
    }

    /// Behind `new`: a worker, or a URL relative to the module.
    fn constructor(&mut self) {
        let is_global = GLOBAL_OBJECTS.contains(&self.word(0)) && self.is_punctuation(1, b'.');
        let at = if is_global { 2 } else { 0 };
        let name = self.word(at);
        if !self.is_punctuation(at + 1, b'(') {
            return;
        }
        let Some(range) = self.argument(at + 2) else { return };
        match name {
            "Worker" | "SharedWorker" => self.emit(range, false),
            "URL" if self.is_module_url(at + 4) => self.emit(range, false),
            _ => {}
        }
    }

    /// Whether the tokens from an index on are `import.meta.url)`.
    fn is_module_url(&mut self, index: usize) -> bool {
        self.word(index) == "import"
            && self.is_punctuation(index + 1, b'.')
            && self.word(index + 2) == "meta"
            && self.is_punctuation(index + 3, b'.')
            && self.word(index + 4) == "url"
    }

    /// The strings in parentheses behind `importScripts`.
    fn arguments(&mut self) {
        if !self.is_punctuation(0, b'(') {
            return;
        }
        while let Some(range) = self.argument(1) {
            self.emit(range, false);
            self.take();
            self.take();
            if self.is_punctuation(0, b')') {
                return;
            }
        }
    }
}

/// The value of a string without its quotes.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(letter) = rest.chars().next() else { break };
        let (replacement, length) = escape(rest).unwrap_or((Some(letter), letter.len_utf8()));
        value.extend(replacement);
        rest = &rest[length..];
    }
    value.push_str(rest);
    Cow::Owned(value)
}

/// The letter for an escape without its backslash, if it has one, and the length of the escape.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let hexadecimal = |digits: &str, length: usize| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
        Some((Some(char::from_u32(number)?), length))
    };
    match text.as_bytes() {
        [b'\r', b'\n', ..] => Some((None, 2)),
        [b'\n' | b'\r', ..] => Some((None, 1)),
        [b'n' | b'r' | b't' | b'v' | b'f' | b'b' | b'0', ..] => Some((Some(' '), 1)),
        [b'x', ..] => hexadecimal(text.get(1..3)?, 3),
        [b'u', b'{', ..] => {
            let digits = text[2..].split_once('}')?.0;
            hexadecimal(digits, digits.len() + 3)
        }
        [b'u', ..] => hexadecimal(text.get(1..5)?, 5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The references of a script; specifiers have a `!`.
    fn found(script: &str) -> Vec<String> {
        let mut found = Vec::new();
        references(script, &mut |reference| {
            let mark = if reference.is_specifier { "!" } else { "" };
            found.push(format!("{mark}{}", reference.text));
        });
        found
    }

    #[test]
    fn imports_and_exports_name_modules() {
        let script = r#"import './a.js';
            import b from "./b.js"; import * as c from './c.js'
            import d, { e as f, 'odd name' as g } from './d.js' with { type: 'json' };
            import { from } from './from.js'; import from from './from2.js'; import{x}from'./x.js'
            export * from './e.js'; export * as h from './f.js'; export { i, j as k } from './g.js';
            export { l }; export const m = './no'; export default './no';
            const n = await import('./h.js'); import(`./i.js`).then(() => {}); import('./j.js', { with: {} });
            import defer * as o from './k.js'; /* import './no' */ // import './no'
            import(p); import('./no' + p); import(`./no${p}`); q.import('./no'); r = { import: './no' };"#;
        let names = ["a", "b", "c", "d", "from", "from2", "x", "e", "f", "g", "h", "i", "j", "k"];
        assert_eq!(found(script), names.map(|name| format!("!./{name}.js")));
    }

    #[test]
    fn workers_and_urls_of_modules() {
        let script = r#"new Worker('a.js'); new SharedWorker("b.js", { name: 'c' }); new window.Worker('d.js');
            new Worker(new URL('./e.js', import.meta.url), { type: 'module' });
            new URL('f.png', import.meta.url).href; new URL('no', location); new URL('no');
            self.importScripts('g.js', 'h.js'); importScripts(); importScripts(no); new Worker(no); new Working('no')"#;
        assert_eq!(found(script), ["a.js", "b.js", "d.js", "./e.js", "f.png", "g.js", "h.js"]);
    }

    #[test]
    fn code_is_told_from_what_only_looks_like_it() {
        for script in [
            "x = \"import './no'\"; import.meta.url",
            "x = `import './no'`; ",
            "x = /import '.\\/no'/; ",
            "important './no'; reimport('./no')",
            "const { import: x } = './no'",
            "a.export.from './no'",
        ] {
            assert_eq!(found(script), [""; 0], "{script}");
        }
        assert_eq!(found("`${await import('./a.js')} import('./no')`"), ["!./a.js"]);
        assert_eq!(found("import x\nimport './a.js'"), ["!./a.js"]);
        assert_eq!(found("import x from export * from './a.js'"), ["!./a.js"]);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(
            found(
                r"import './\u0061\x62\u{63}\/d\
e.js'"
            ),
            ["!./abc/de.js"]
        );
        assert_eq!(unescape(r"\u{110000}\xzz\u12\"), r"u{110000}xzzu12");
    }

    #[test]
    fn long_scripts_take_time_in_proportion() {
        for piece in [
            "import ",
            "import a,",
            "import {",
            "new ",
            "new URL('a',import.",
            "importScripts('a',",
            "export {a,",
        ] {
            found(&piece.repeat(100_000));
        }
    }

    proptest! {
        #[test]
        fn every_script_ends(words in prop::collection::vec(prop::sample::select(vec![
            "import", "export", "from", "new", "Worker", "URL", "importScripts", "(", ")", "{", "}", ",", "*", ".", "'a'",
            "`b`", "`${", "meta", "url", "/", "\n", "\\", "'", "=", ":", ";", "é",
        ]), 0..40), space in prop::sample::select(vec!["", " "])) {
            found(&words.join(space));
        }

        /// Comments and white space between tokens change nothing.
        #[test]
        fn comments_between_tokens_do_not_matter(gaps in prop::collection::vec(
            prop::sample::select(vec![" ", "\n", "/* import 'no' */", "// import 'no'\n", "\t"]), 12)) {
            let tokens = ["import", "a", ",", "{", "b", "as", "c", "}", "from", "'./x.js'", ";", ""];
            let script: String = tokens.iter().zip(&gaps).map(|(token, gap)| format!("{token}{gap}")).collect();
            // Two words need something between them.
            prop_assert_eq!(found(&script), ["!./x.js"]);
        }
    }
}
