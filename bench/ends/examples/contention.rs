//! Program that `bench/contention` runs: `contention THREADS TOPICS SECONDS LOAD`. The threads of one context publish
//! best-effort messages as fast as they can, each on its own topics, to another context. Meanwhile LOAD runs in the
//! publishing context:
//!
//! - `quiet`: nothing else.
//! - `receive`: the publishing context receives the same number of topics from the other one.
//! - `discovery`: contexts with a subscription to each topic join and leave, one after another.
//!
//! Prints one line: messages published per second, messages received per second, and the duration of `publish` in
//! microseconds: median, 99th percentile and maximum.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Length of the payload in bytes.
const PAYLOAD: usize = 100;

/// Time limit of discovery.
const LONG: Duration = Duration::from_secs(60);

/// Duration of publishing before the measurement.
const WARM_UP: Duration = Duration::from_millis(200);

/// Period of the messages of the load `receive`.
const PACE: Duration = Duration::from_micros(100);

/// Most publish durations recorded per thread.
const MOST_TIMES: usize = 1 << 22;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [threads, topics, seconds, load] = arguments.as_slice() else {
        return Err("usage: contention THREADS TOPICS SECONDS quiet|receive|discovery".into());
    };
    let (threads, topics): (usize, usize) = (threads.parse()?, topics.parse()?);
    let duration = Duration::from_secs_f64(seconds.parse()?);
    if threads == 0 || topics < threads {
        return Err("each thread needs a topic".into());
    }
    let (near, far) = (context()?, context()?);
    let run = Run {
        near: &near,
        far: &far,
        topics,
        counting: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    };
    let received = Arc::new(AtomicU64::new(0));
    let (talker, listener) = (near.create_node("talker")?, far.create_node("listener")?);
    let publishers = run.publishers(&talker, "out")?;
    let _subscriptions = run.subscriptions(&listener, "out", &received)?;
    let outcome = thread::scope(|scope| {
        let spinning = [&near, &far].map(|context| scope.spawn(|| context.spin()));
        let outcome = run.measure(&publishers, threads, duration, load, &received);
        near.shutdown();
        far.shutdown();
        for spinning in spinning {
            spinning.join().map_err(|_| "a spinning thread panicked")??;
        }
        outcome
    })?;
    println!("{outcome}");
    Ok(())
}

fn context() -> Outcome<Context> {
    let options = ContextOptions::default().arguments([""; 0]).signals(false).ipc(false);
    Ok(Context::with_options(options.graphs(Graphs::Ros2).domain_id(22))?)
}

/// State shared by all threads.
struct Run<'a> {
    near: &'a Context,
    far: &'a Context,
    topics: usize,
    /// The measurement has begun.
    counting: AtomicBool,
    stop: AtomicBool,
}

impl Run<'_> {
    fn publishers(&self, node: &Node, name: &str) -> Outcome<Vec<Publisher<UInt8MultiArray>>> {
        let publisher = |topic| node.create_publisher(&format!("{name}_{topic}"), qos());
        Ok((0..self.topics).map(publisher).collect::<Result<_, _>>()?)
    }

    fn subscriptions(
        &self,
        node: &Node,
        name: &str,
        received: &Arc<AtomicU64>,
    ) -> Outcome<Vec<Subscription>> {
        let subscription = |topic| {
            let received = Arc::clone(received);
            node.create_subscription(&format!("{name}_{topic}"), qos(), move |_: &UInt8MultiArray| {
                received.fetch_add(1, Ordering::Relaxed);
            })
        };
        Ok((0..self.topics).map(subscription).collect::<Result<_, _>>()?)
    }

    fn measure(
        &self,
        publishers: &[Publisher<UInt8MultiArray>],
        threads: usize,
        duration: Duration,
        load: &str,
        received: &AtomicU64,
    ) -> Outcome<String> {
        wait_for_subscribers(publishers)?;
        thread::scope(|scope| {
            let load = scope.spawn(|| match load {
                "quiet" => Ok(()),
                "receive" => self.receive(),
                "discovery" => self.join_and_leave(),
                _ => Err(format!("unknown load {load}").into()),
            });
            let publishing: Vec<_> = (0..threads)
                .map(|thread| {
                    let own: Vec<_> = publishers.iter().skip(thread).step_by(threads).collect();
                    scope.spawn(move || self.publish(&own))
                })
                .collect();
            thread::sleep(WARM_UP);
            self.counting.store(true, Ordering::Relaxed);
            let (began, before) = (Instant::now(), received.load(Ordering::Relaxed));
            thread::sleep(duration);
            let (took, after) = (began.elapsed(), received.load(Ordering::Relaxed));
            self.stop.store(true, Ordering::Relaxed);
            let mut times = Vec::new();
            for publishing in publishing {
                times.append(&mut publishing.join().map_err(|_| "a publishing thread panicked")??);
            }
            load.join().map_err(|_| "the load panicked")??;
            Ok(summary(times, after - before, took))
        })
    }

    /// Publishes on its topics in turn. Returns the durations of the measured messages, in nanoseconds.
    fn publish(&self, publishers: &[&Publisher<UInt8MultiArray>]) -> Outcome<Vec<u32>> {
        let message = Arc::new(UInt8MultiArray { data: vec![7; PAYLOAD], ..UInt8MultiArray::default() });
        let mut times = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            for publisher in publishers {
                let began = Instant::now();
                publisher.publish(Arc::clone(&message))?;
                if self.counting.load(Ordering::Relaxed) && times.len() < MOST_TIMES {
                    times.push(u32::try_from(began.elapsed().as_nanos()).unwrap_or(u32::MAX));
                }
            }
        }
        Ok(times)
    }

    fn receive(&self) -> Outcome<()> {
        let (talker, listener) =
            (self.far.create_node("far_talker")?, self.near.create_node("near_listener")?);
        let publishers = self.publishers(&talker, "back")?;
        let _subscriptions = self.subscriptions(&listener, "back", &Arc::default())?;
        wait_for_subscribers(&publishers)?;
        let message = Arc::new(UInt8MultiArray { data: vec![7; PAYLOAD], ..UInt8MultiArray::default() });
        while !self.stop.load(Ordering::Relaxed) {
            publishers.iter().try_for_each(|publisher| publisher.publish(Arc::clone(&message)))?;
            thread::sleep(PACE);
        }
        Ok(())
    }

    fn join_and_leave(&self) -> Outcome<()> {
        while !self.stop.load(Ordering::Relaxed) {
            let passing = context()?;
            let node = passing.create_node("passing")?;
            let _subscriptions = self.subscriptions(&node, "out", &Arc::default())?;
            passing.spin_once(Duration::from_millis(10))?;
            passing.shutdown();
        }
        Ok(())
    }
}

fn qos() -> QoS {
    QoS::keep_last(10).best_effort()
}

fn wait_for_subscribers(publishers: &[Publisher<UInt8MultiArray>]) -> Outcome<()> {
    for publisher in publishers {
        if !publisher.wait_for_subscribers(1, LONG)? {
            return Err(format!("no subscriber of {}", publisher.topic()).into());
        }
    }
    Ok(())
}

fn summary(mut times: Vec<u32>, received: u64, took: Duration) -> String {
    times.sort_unstable();
    let percentile = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        f64::from(times.get(index).copied().unwrap_or_default()) / 1000.0
    };
    let rate = |count: f64| (count / took.as_secs_f64()).round();
    let [median, high, longest] = [50, 99, 100].map(percentile);
    let (published, received) = (rate(times.len() as f64), rate(received as f64));
    format!("{published} {received} {median:.1} {high:.1} {longest:.1}")
}
