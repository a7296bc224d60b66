//! Message numbers on a link that carries none: both ends count from the last statement.
//!
//! Each end of a TCPROS connection keeps one [`LinkNumbering`], however many streams and subscriptions share the link.
//! Consecutive messages of one stream need no statement.

use crate::statement::{Statement, StreamId};

/// Counter of message numbers at one end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkNumbering {
    /// The stream and the number of the next message.
    next: Option<(u64, u64)>,
}

impl LinkNumbering {
    /// Creates the counter of a link without statements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a statement that was written to the link or read from it. Call it for each one, before the next message.
    pub fn note(&mut self, statement: &Statement) {
        let stream = statement.id().stream;
        match *statement {
            Statement::Begin { from: next, .. }
            | Statement::Skip { to: next, .. }
            | Statement::Number { next, .. } => self.next = Some((stream, next)),
            _ => {}
        }
    }

    /// Counts a message at the writing end; returns the statement that must precede it, if any.
    pub fn before_message(&mut self, id: StreamId, number: u64) -> Option<Statement> {
        let is_expected = self.next == Some((id.stream, number));
        self.next = Some((id.stream, number.saturating_add(1)));
        (!is_expected).then_some(Statement::Number { id, next: number })
    }

    /// Counts a message at the reading end; returns its stream and number, or `None` before the first statement.
    pub fn message(&mut self) -> Option<(u64, u64)> {
        let (stream, number) = self.next?;
        self.next = Some((stream, number.saturating_add(1)));
        Some((stream, number))
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const A: StreamId = StreamId { stream: 7, subscription: 0 };
    const B: StreamId = StreamId { stream: 8, subscription: 1 };

    /// Writes messages at one end; returns the numbers at the other end and the count of extra statements.
    fn carry(statements: &[Statement], messages: &[(StreamId, u64)]) -> (Vec<(u64, u64)>, usize) {
        let (mut writer, mut reader) = (LinkNumbering::new(), LinkNumbering::new());
        for statement in statements {
            writer.note(statement);
            reader.note(statement);
        }
        let mut extra = 0;
        let read = messages.iter().map(|(id, number)| {
            if let Some(statement) = writer.before_message(*id, *number) {
                reader.note(&statement);
                extra += 1;
            }
            reader.message().unwrap()
        });
        (read.collect(), extra)
    }

    #[test]
    fn messages_in_a_row_need_no_statement() {
        let begin = Statement::Begin { id: A, epoch: 1, from: 5, is_settled: false };
        let (read, extra) = carry(&[begin], &[(A, 5), (A, 6), (A, 7)]);
        assert_eq!((read, extra), (vec![(7, 5), (7, 6), (7, 7)], 0));
    }

    #[test]
    fn gap_and_other_stream_cost_one_statement_each() {
        let begin = Statement::Begin { id: A, epoch: 1, from: 5, is_settled: false };
        let (read, extra) = carry(&[begin], &[(A, 5), (A, 9), (A, 10), (B, 3), (B, 4), (A, 11)]);
        assert_eq!(read, [(7, 5), (7, 9), (7, 10), (8, 3), (8, 4), (7, 11)]);
        assert_eq!(extra, 3);
    }

    #[test]
    fn repeated_begin_and_reached_keep_count() {
        let begin = Statement::Begin { id: A, epoch: 1, from: 5, is_settled: false };
        let reached = Statement::Reached { id: B, epoch: 1, next: 90 };
        let (read, extra) = carry(&[begin, reached, begin], &[(A, 8), (A, 9)]);
        assert_eq!((read, extra), (vec![(7, 8), (7, 9)], 1));
    }

    #[test]
    fn link_without_statement_has_no_numbers() {
        assert_eq!(LinkNumbering::new().message(), None);
    }
}
