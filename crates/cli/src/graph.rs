//! The drawing at the left of `varve log --graph`: which version descends from which.
//!
//! Versions come newest first and each has one parent at most, so the drawing is a row of columns, each waiting for one
//! version. Where several wait for the same, they are joined below it.

use varve_archive::VersionId;

/// The columns so far.
#[derive(Default)]
pub(crate) struct Graph {
    columns: Vec<Option<VersionId>>,
}

/// How one version is drawn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// Beside its first line.
    pub(crate) node: String,
    /// Beside its other lines.
    pub(crate) below: String,
    /// Lines that bring columns together.
    pub(crate) joins: Vec<String>,
}

impl Graph {
    /// Draws the next version.
    pub(crate) fn step(&mut self, version: VersionId, parent: Option<VersionId>) -> Drawn {
        let waiting: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at] == Some(version)).collect();
        let own = match waiting.first() {
            Some(own) => *own,
            None => self.free_column(),
        };
        let node = self.row(|at, column| match column {
            _ if at == own => '*',
            Some(_) => '|',
            None => ' ',
        });
        self.columns[own] = parent;
        for at in waiting.into_iter().skip(1) {
            self.columns[at] = None;
        }
        let joins = parent.map(|parent| self.join(parent)).unwrap_or_default();
        while self.columns.last() == Some(&None) {
            self.columns.pop();
        }
        let below = self.row(|_, column| if column.is_some() { '|' } else { ' ' });
        Drawn { node, below, joins }
    }

    fn free_column(&mut self) -> usize {
        match self.columns.iter().position(Option::is_none) {
            Some(at) => at,
            None => {
                self.columns.push(None);
                self.columns.len() - 1
            }
        }
    }

    /// Where two columns wait for the same parent, the right one leads over to the left one.
    fn join(&mut self, parent: VersionId) -> Vec<String> {
        let same: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at] == Some(parent)).collect();
        let mut lines = Vec::new();
        for at in same.into_iter().skip(1).rev() {
            let mut line: Vec<char> =
                self.row(|_, column| if column.is_some() { '|' } else { ' ' }).chars().collect();
            line.truncate(2 * at);
            line.resize(2 * at, ' ');
            line[2 * at - 1] = '/';
            lines.push(line.into_iter().collect::<String>());
            self.columns[at] = None;
        }
        lines
    }

    fn row(&self, letter: impl Fn(usize, Option<VersionId>) -> char) -> String {
        let letters: Vec<String> =
            self.columns.iter().enumerate().map(|(at, column)| letter(at, *column).to_string()).collect();
        letters.join(" ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> VersionId {
        format!("00000000-0000-8000-8000-0000000000{number:02x}").parse().unwrap()
    }

    #[test]
    fn one_line_of_descent_is_one_column() {
        let mut graph = Graph::default();
        assert_eq!(graph.step(id(2), Some(id(1))).node, "*");
        assert_eq!(graph.step(id(1), None), Drawn { node: "*".into(), below: String::new(), joins: vec![] });
    }

    #[test]
    fn two_children_are_two_columns_that_meet() {
        let mut graph = Graph::default();
        assert_eq!(graph.step(id(3), Some(id(1))).node, "*");
        let second = graph.step(id(2), Some(id(1)));
        assert_eq!((second.node.as_str(), second.joins), ("| *", vec!["|/".to_owned()]));
        assert_eq!(graph.step(id(1), None).node, "*");
    }
}
