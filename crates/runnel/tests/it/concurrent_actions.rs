//! Action servers that execute their goals concurrently.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use crate::common::{LONG, wait_until};
use crate::ros2_action_scene::{Goal, end, wait_for_status};
use crate::ros2_pair::{context, new_domain};
use crate::scene::{goal, result};
use crate::spinning::Spinning;
use runnel::msgs::actionlib::action::TestAction;
use runnel::{ActionClient, ActionServer, ClientGoalHandle, Context, Error, GoalStatus};

/// Most goals that a server executes at the same time.
const MOST: i32 = 64;

/// A server, and a client in another context.
struct Pair {
    client: ActionClient<TestAction>,
    _server: ActionServer<TestAction>,
    _near: Spinning,
    _far: Context,
}

impl Pair {
    fn new(execute: impl Fn(&Goal) -> Result<(), Error> + Send + Sync + 'static) -> Self {
        let domain = new_domain();
        let (near, far) = (Spinning::new(domain), context(domain, false));
        let server = near.node("server").create_concurrent_action_server("test", execute).unwrap();
        let client = far.create_node("client").unwrap().create_action_client("test").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        Self { client, _server: server, _near: near, _far: far }
    }

    fn send(&self, number: i32) -> ClientGoalHandle<TestAction> {
        self.client.send_goal(&goal(number)).unwrap()
    }
}

#[test]
fn goals_are_executed_side_by_side_until_they_end() {
    let begun = AtomicUsize::new(0);
    let pair = Pair::new(move |goal| match goal.goal().goal {
        0 => {
            begun.fetch_add(1, Ordering::SeqCst);
            wait_until("both goals are executed", || begun.load(Ordering::SeqCst) == 2);
            goal.succeed(&result(1), "")
        }
        1 => {
            wait_until("a cancel request", || goal.is_cancel_requested());
            goal.canceled(&result(2), "")
        }
        2 => Err(Error::ShuttingDown),
        3 => panic!("on purpose"),
        _ => Ok(()),
    });
    let together = [0, 0].map(|number| pair.send(number));
    together.iter().for_each(|sent| assert_eq!(end(sent), (GoalStatus::Succeeded, Some(1))));
    let canceled = pair.send(1);
    wait_for_status(&canceled, GoalStatus::Active);
    canceled.cancel().unwrap();
    assert_eq!(end(&canceled), (GoalStatus::Preempted, Some(2)));
    for left_open in 2..=4 {
        assert_eq!(end(&pair.send(left_open)), (GoalStatus::Aborted, Some(0)), "{left_open}");
    }
}

#[test]
fn goals_beyond_the_limit_of_threads_are_rejected() {
    let (go_on, goes_on) = mpsc::channel::<()>();
    let goes_on = Arc::new(Mutex::new(goes_on));
    let pair = Pair::new(move |goal| {
        let _ = goes_on.lock().unwrap().recv();
        goal.succeed(&result(1), "")
    });
    let executed: Vec<_> = (0..MOST).map(|number| pair.send(number)).collect();
    executed.iter().for_each(|sent| wait_for_status(sent, GoalStatus::Active));
    assert_eq!(end(&pair.send(MOST)), (GoalStatus::Rejected, None));
    go_on.send(()).unwrap();
    drop(go_on);
    executed.iter().for_each(|sent| assert_eq!(end(sent), (GoalStatus::Succeeded, Some(1))));
    assert_eq!(end(&pair.send(MOST)), (GoalStatus::Succeeded, Some(1)), "a thread is free");
}
