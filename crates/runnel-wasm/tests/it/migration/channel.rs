//! A connection within the process, which can be cut.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_wasm::migration::{Channel, SharedChannel};

/// What wakes an end.
type Wake = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// Cuts a connection, in both directions.
#[derive(Clone, Default)]
pub struct Cut {
    is_cut: Arc<AtomicBool>,
    wakes: [Wake; 2],
    /// Frames in each direction until it cuts itself.
    left: [Arc<Mutex<Option<usize>>>; 2],
}

impl Cut {
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for wake in &self.wakes {
            if let Some(wake) = &*wake.lock().unwrap() {
                wake();
            }
        }
    }

    /// Cuts itself in place of the frame after so many, in the direction of this end.
    pub fn after(&self, end: usize, frames: usize) {
        *self.left[end].lock().unwrap() = Some(frames);
    }
}

struct End {
    number: usize,
    to: Mutex<Sender<Vec<u8>>>,
    from: Mutex<Receiver<Vec<u8>>>,
    cut: Cut,
}

impl Channel for End {
    fn send(&self, frame: Vec<u8>) -> Result<(), String> {
        let is_last = match &mut *self.cut.left[self.number].lock().unwrap() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if is_last {
            self.cut.cut();
        }
        if self.cut.is_cut.load(Ordering::SeqCst) {
            return Err("it is cut".to_owned());
        }
        self.to.lock().unwrap().send(frame).map_err(|_| "the other end is gone".to_owned())?;
        if let Some(wake) = &*self.cut.wakes[1 - self.number].lock().unwrap() {
            wake();
        }
        Ok(())
    }

    fn receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>, String> {
        // In steps, since a cut may come meanwhile.
        let step = Duration::from_millis(5);
        let mut left = timeout;
        loop {
            match self.from.lock().unwrap().recv_timeout(left.min(step)) {
                Ok(frame) => return Ok(Some(frame)),
                Err(RecvTimeoutError::Disconnected) => return Err("the other end is gone".to_owned()),
                Err(RecvTimeoutError::Timeout) if self.cut.is_cut.load(Ordering::SeqCst) => {
                    return Err("it is cut".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if left <= step => return Ok(None),
                Err(RecvTimeoutError::Timeout) => left -= step,
            }
        }
    }

    fn set_on_received(&self, wake: Box<dyn Fn() + Send>) {
        wake();
        *self.cut.wakes[self.number].lock().unwrap() = Some(wake);
    }
}

/// Two ends, and what cuts them.
pub fn pair() -> (SharedChannel, SharedChannel, Cut) {
    let ((to_b, from_a), (to_a, from_b)) = (mpsc::channel(), mpsc::channel());
    let cut = Cut::default();
    let end = |number, to, from| {
        let (to, from) = (Mutex::new(to), Mutex::new(from));
        SharedChannel::new(End { number, to, from, cut: cut.clone() })
    };
    (end(0, to_b, from_b), end(1, to_a, from_a), cut)
}
