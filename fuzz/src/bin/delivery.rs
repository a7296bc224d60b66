//! The delivery state machine: a sender and a receiver whose peers send arbitrary statements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_delivery::{
    Credit, Numbered, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, STATEMENT_BYTES,
    SendAction, Sender, SenderOptions, Statement, StreamId,
};

const ID: StreamId = StreamId { stream: 1, subscription: 0 };
const CREDIT: Credit = Credit { messages: 8, bytes: 1000 };
const KINDS: [PathKind; 6] = [
    PathKind::SharedMemory,
    PathKind::RtpsReliable,
    PathKind::RtpsBestEffort,
    PathKind::Tcpros,
    PathKind::Udpros,
    PathKind::Relay,
];

/// Bytes of one step: action, path, size and statement.
const STEP: usize = 3 + STATEMENT_BYTES;

/// A sender and a receiver, each with its own hostile peer.
struct Ends {
    sender: Sender<u8>,
    receiver: Receiver<u8>,
    published: u64,
    delivered: u64,
}

fuzz_target!(|data: &[u8]| {
    let options = SenderOptions {
        id: ID,
        first: 1,
        policy: QueuePolicy::KeepLast { depth: 16 },
        max_bytes: 4000,
        credit: CREDIT,
    };
    let mut ends = Ends {
        sender: Sender::new(options),
        receiver: Receiver::new(ID, CREDIT),
        published: 0,
        delivered: 0,
    };
    if data.first().is_some_and(|first| first & 1 != 0) {
        ends.sender.pace();
        ends.receiver.report_every(4);
    }
    data.chunks_exact(STEP).for_each(|step| ends.step(step));
});

impl Ends {
    fn step(&mut self, step: &[u8]) {
        let [action, path, size, statement @ ..] = step else { return };
        let kind = KINDS[usize::from(*path) % KINDS.len()];
        let (path, bytes) = (PathId(u32::from(*path) % 12), usize::from(*size) * 5);
        let number = Statement::parse(statement).map_or(1, |statement| match statement {
            Statement::Begin { from: number, .. }
            | Statement::Skip { to: number, .. }
            | Statement::Reached { next: number, .. }
            | Statement::Leave { from: number, .. }
            | Statement::Number { next: number, .. } => number,
            _ => 1,
        });
        match action % 16 {
            0 => {
                let _ = self.sender.path_up(Path::new(path, kind));
            }
            1 => {
                let _ = self.receiver.path_up(Path::new(path, kind));
            }
            2 => self.sender.path_down(path, [Numbered { number, bytes, message: 0 }]),
            3 => self.receiver.path_down(path),
            4 => {
                let _ = self.sender.switch_path(path);
            }
            5 => self.sender.path_empty(path),
            6 => self.receiver.path_drained(path),
            7 => {
                let _ = self.receiver.message(path, number, 0, bytes);
            }
            8 => {
                let _ = self.receiver.message_unnumbered(path, 0, bytes);
            }
            9 => {
                let _ = self.receiver.gap(path, number, number.saturating_add(bytes as u64));
            }
            10 => {
                let _ = self.receiver.accept_in_order(path, number);
            }
            11 => self.send_back(path),
            12 => {
                let _ = self.sender.expire_before(number);
            }
            13 => self.publish(bytes),
            _ => self.handle_statement(path, statement),
        }
        self.poll();
    }

    fn publish(&mut self, bytes: usize) {
        self.published = self.published.max(self.sender.next_number().saturating_sub(1)) + 1;
        let _ = self.sender.publish(self.published, 0, bytes);
    }

    fn send_back(&mut self, path: PathId) {
        if let Some(SendAction::Send { path: used_path, message }) = self.sender.poll_action() {
            self.sender.return_unsent(used_path, message);
            self.sender.path_writable(path);
        }
    }

    fn handle_statement(&mut self, path: PathId, statement: &[u8]) {
        match Statement::parse(statement) {
            Ok(Statement::Begin { epoch, from, is_settled, .. }) => {
                let _ = self.receiver.begin(path, epoch, from, is_settled);
            }
            Ok(Statement::Skip { to, .. }) => {
                let _ = self.receiver.skip(path, to);
            }
            Ok(Statement::Reached { epoch, next, .. }) => {
                let _ = self.sender.reached(epoch, next);
            }
            _ => {}
        }
    }

    /// Both have a bounded number of actions, and delivered numbers ascend.
    fn poll(&mut self) {
        let mut actions = 0;
        while self.sender.poll_action().is_some() {
            actions += 1;
            assert!(actions < 100, "the sender's actions do not end");
        }
        while let Some(action) = self.receiver.poll_action() {
            if let ReceiveAction::Deliver { number: Some(number), .. } = action {
                assert!(number >= self.delivered, "{number} after {}", self.delivered);
                self.delivered = number + 1;
            }
            actions += 1;
            assert!(actions < 300, "the receiver's actions do not end");
        }
        assert!(self.receiver.held() <= 4 * 8);
    }
}
