//! From values to text, byte for byte as PyYAML writes them.
//!
//! Two passes over each document: the first finds values that need an anchor because they are shared, the second writes. How a scalar
//! is spelled is decided in `style` and done in `write`; here is structure alone. What is written is ASCII.
//!
//! The words `whitespace` and `indention` are about the last character written: whether it was a blank, and whether the
//! line so far is nothing but indentation and `-`, `?`, `:`. Every question of where to break a line is answered by
//! them and by the column.

mod style;
mod tag;
mod write;

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::order::ordered;
use super::value::{Entry, Kind, Mapping, Scalar, Sequence, Value};
use style::{Analysis, Style};

/// How far each level is indented.
const INDENT_COLUMNS: usize = 2;
/// Keys of this length and more are written with `?`.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// The text of `documents`, each beginning with `---`.
///
/// Values that share a list or mapping share it in the text. The parser limits the depth of values;
/// a caller that builds values itself must limit their depth too, because this function recurses.
pub fn emit<V: Borrow<Value>>(documents: impl IntoIterator<Item = V>) -> String {
    let mut emitter = Emitter::default();
    for document in documents {
        emitter.document(document.borrow());
    }
    if emitter.open_ended {
        emitter.indicator("...", true, false, false);
        emitter.break_line_to_indent();
    }
    emitter.out
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    Root,
    Item,
    Value,
    /// A key on the line of its value.
    Key,
}

struct Emitter {
    out: String,
    column: usize,
    indent: Option<usize>,
    whitespace: bool,
    indention: bool,
    /// A reader cannot know yet that the document is over.
    open_ended: bool,
    anchors: Anchors,
}

impl Default for Emitter {
    fn default() -> Self {
        Self {
            out: String::new(),
            column: 0,
            indent: None,
            whitespace: true,
            indention: true,
            open_ended: false,
            anchors: Anchors::default(),
        }
    }
}

/// The shared values of one document.
#[derive(Default)]
struct Anchors {
    names: HashMap<usize, Option<String>>,
    written: HashSet<usize>,
    last: usize,
}

impl Anchors {
    /// Numbers in the order in which things are met for the second time.
    fn find(&mut self, value: &Value) {
        if let Some(identity) = identity(value) {
            if let Some(name) = self.names.get_mut(&identity) {
                if name.is_none() {
                    self.last += 1;
                    *name = Some(format!("id{:03}", self.last));
                }
                return;
            }
            self.names.insert(identity, None);
        }
        match value {
            Value::Scalar(_) => {}
            Value::Sequence(list) => list.items.iter().for_each(|item| self.find(item)),
            Value::Mapping(map) => ordered(map).into_iter().for_each(|entry| {
                self.find(&entry.key);
                self.find(&entry.value);
            }),
        }
    }

    fn name(&self, value: &Value) -> Option<&str> {
        self.names.get(&identity(value)?)?.as_deref()
    }
}

/// What makes two places the same value. Of scalars only dates are objects to Python in this sense.
fn identity(value: &Value) -> Option<usize> {
    match value {
        Value::Scalar(scalar) if scalar.kind == Kind::Timestamp => Some(Arc::as_ptr(scalar) as usize),
        Value::Scalar(_) => None,
        Value::Sequence(list) => Some(Arc::as_ptr(list) as usize),
        Value::Mapping(map) => Some(Arc::as_ptr(map) as usize),
    }
}

impl Emitter {
    fn document(&mut self, value: &Value) {
        self.anchors = Anchors::default();
        self.anchors.find(value);
        self.break_line_to_indent();
        self.indicator("---", true, false, false);
        self.node(value, Context::Root);
        self.break_line_to_indent();
    }

    fn node(&mut self, value: &Value, context: Context) {
        if let Some(name) = self.anchors.name(value).map(str::to_owned) {
            let first = identity(value).is_none_or(|identity| self.anchors.written.insert(identity));
            self.indicator(&format!("{}{name}", if first { '&' } else { '*' }), true, false, false);
            if !first {
                return;
            }
        }
        match value {
            Value::Scalar(scalar) => self.scalar(scalar, context),
            Value::Sequence(list) => self.sequence(list, context),
            Value::Mapping(map) => self.mapping(map),
        }
    }

    fn scalar(&mut self, scalar: &Scalar, context: Context) {
        let analysis = Analysis::of(&scalar.text);
        let style = Style::choose(scalar, &analysis, context == Context::Key);
        if let Some(tag) = tag::of_scalar(&scalar.kind, style) {
            self.indicator(&tag, true, false, false);
        }
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT_COLUMNS, |indent| indent + INDENT_COLUMNS));
        let foldable = context != Context::Key;
        match style {
            Style::Plain => self.plain(&scalar.text, foldable, context == Context::Root),
            Style::Single => self.single_quoted(&scalar.text, foldable),
            Style::Double => self.double_quoted(&scalar.text, foldable),
            Style::Literal => self.literal(&scalar.text),
        }
        self.indent = outer;
    }

    fn sequence(&mut self, list: &Sequence, context: Context) {
        if let Some(tag) = &list.tag {
            self.indicator(&tag::written(tag), true, false, false);
        }
        if list.items.is_empty() {
            self.indicator("[", true, true, false);
            return self.indicator("]", false, false, false);
        }
        let outer = self.indent;
        // A list below its key is not indented, unless the key stands on a line of its own.
        let indentless = context == Context::Value && !self.indention;
        self.indent =
            Some(outer.map_or(0, |indent| if indentless { indent } else { indent + INDENT_COLUMNS }));
        for item in &list.items {
            self.break_line_to_indent();
            self.indicator("-", true, false, true);
            self.node(item, Context::Item);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, map: &Mapping) {
        if let Some(tag) = &map.tag {
            self.indicator(&tag::written(tag), true, false, false);
        }
        if map.entries.is_empty() {
            self.indicator("{", true, true, false);
            return self.indicator("}", false, false, false);
        }
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + INDENT_COLUMNS));
        for entry in ordered(map) {
            self.entry(entry);
        }
        self.indent = outer;
    }

    fn entry(&mut self, entry: &Entry) {
        self.break_line_to_indent();
        if self.fits_as_key(&entry.key) {
            self.node(&entry.key, Context::Key);
            self.indicator(":", false, false, false);
        } else {
            self.indicator("?", true, false, true);
            self.node(&entry.key, Context::Value);
            self.break_line_to_indent();
            self.indicator(":", true, false, true);
        }
        self.node(&entry.value, Context::Value);
    }

    fn fits_as_key(&self, key: &Value) -> bool {
        let anchor = self.anchors.name(key).map_or(0, str::len);
        let already = identity(key).is_some_and(|identity| self.anchors.written.contains(&identity));
        if already {
            return anchor < MAX_SIMPLE_KEY_BYTES;
        }
        match key {
            Value::Scalar(scalar) => {
                let length = anchor + tag::length(&scalar.kind) + scalar.text.chars().count();
                length < MAX_SIMPLE_KEY_BYTES
                    && !scalar.text.is_empty()
                    && !Analysis::of(&scalar.text).multiline
            }
            Value::Sequence(list) => list.items.is_empty(),
            Value::Mapping(map) => map.entries.is_empty(),
        }
    }

    fn indicator(&mut self, text: &str, apart: bool, whitespace: bool, indention: bool) {
        if apart && !self.whitespace {
            self.write(" ");
        }
        self.write(text);
        self.whitespace = whitespace;
        self.indention = self.indention && indention;
        self.open_ended = false;
    }

    /// Goes to where the next thing of this level begins, on a new line unless this one is still empty.
    fn break_line_to_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        if self.column < indent {
            self.whitespace = true;
            self.out.extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.whitespace = true;
        self.indention = true;
        self.column = 0;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }
}
