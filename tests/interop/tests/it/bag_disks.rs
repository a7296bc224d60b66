//! `runnel bag record` on disks that fail: full, read-only, with a limit on the length of files, slow. The error says what
//! happened, what was written before can be read, and the publishers and their other subscribers go on.

use std::path::{Path, PathBuf};

use interop::{Master, Origin, Outcome, Server, check_all_received, outcome, ready};
use runnel_testkit::process::Peer;

use crate::bag_scene::{Recorder, answer, text};

/// Messages of the publisher: 10 MB in 4 s.
const COUNT: usize = 200;
const MESSAGES: [&str; 6] = ["--size", "50000", "--rate", "50", "--count", "200"];

const TYPE: [&str; 2] = ["--type", "std_msgs/UInt8MultiArray"];

/// Publishers over TCPROS and by shared memory.
const PUBLISHERS: [Origin; 2] = [Origin::Roscpp, Origin::Runnel];

/// A publisher, a listener to its messages, and a recorder.
struct Scene {
    master: Master,
    bag: PathBuf,
}

impl Scene {
    fn new(name: &str) -> Self {
        let master = Master::start(Server::Rosmaster);
        let bag = master.graph().home().join(name);
        Self { master, bag }
    }

    /// Runs a script whose arguments are `runnel` and the words of the recorder's command line, with mounts of its own.
    fn script(&self, script: &str) -> Peer {
        let runnel = interop::built("runnel");
        let words = ["--mount", "sh", "-c", script, text(&runnel)];
        let record = ["--json", "bag", "record", "/data", "--ros1", "-O", text(&self.bag)];
        self.master.graph().tool("unshare", &[&words[..], &record].concat())
    }

    /// A recorder that fails while the publisher publishes to it and to a listener, which gets all messages.
    fn fails(&self, script: &str, publisher: Origin) -> Outcome {
        let graph = self.master.graph();
        let listener =
            ready(graph.listener(Origin::Roscpp, &[&["/data", "--count", "200"][..], &TYPE].concat()));
        let recorder = self.script(script);
        let talker = [&["/data", "--wait", "2"][..], &MESSAGES, &TYPE].concat();
        let mut talker = graph.talker(publisher, &talker);
        check_all_received(&mut talker, &mut [listener], COUNT);
        outcome(recorder)
    }

    fn runnel(&self, words: &[&str]) -> Outcome {
        outcome(self.master.graph().runnel("runnel", words))
    }

    /// Repairs the bag. Returns its number of messages.
    fn repaired(&self, bag: &Path) -> u64 {
        let checked = self.runnel(&["bag", "check", text(bag)]);
        assert_eq!(checked.code, Some(1), "it is not complete: {:#?}", checked.lines);
        self.runnel(&["bag", "reindex", text(bag)]).success();
        let repaired = text(bag).trim_end_matches(".active");
        self.runnel(&["bag", "check", repaired]).success();
        answer(&self.runnel(&["--json", "bag", "info", repaired]))["messages"].as_u64().expect("a number")
    }
}

/// The recorder's exit code was 1, and one of its lines has these texts.
fn check_failure(outcome: &Outcome, texts: &[&str]) {
    assert_eq!(outcome.code, Some(1), "{:#?}", outcome.lines);
    let is_error = |line: &&String| texts.iter().all(|text| line.contains(text));
    assert!(outcome.lines.iter().any(|line| is_error(&line)), "{texts:?}: {:#?}", outcome.lines);
}

#[test]
fn full_disk_ends_recording_only() {
    for publisher in PUBLISHERS {
        for name in ["full.mcap", "full.bag"] {
            let scene = Scene::new(&format!("disk/{name}"));
            std::fs::create_dir(scene.bag.parent().expect("a folder")).expect("a folder");
            // The bag is copied out of the disk, which only the script has.
            let script =
                "mount -t tmpfs -o size=4m disk disk; \"$0\" \"$@\"; code=$?; cp -r disk copy; exit $code";
            let outcome = scene.fails(script, publisher);
            check_failure(&outcome, &[name, "No space left on device", "Try: runnel bag reindex"]);
            let active = if name.ends_with(".bag") { format!("{name}.active") } else { name.to_owned() };
            let copy = scene.master.graph().home().join("copy").join(active);
            let messages = scene.repaired(&copy);
            assert!(messages > 20 && messages < COUNT as u64, "{messages} messages in 4 MiB");
        }
    }
}

#[test]
fn longest_file_of_a_process_ends_recording_only() {
    for publisher in PUBLISHERS {
        let scene = Scene::new("limited.mcap");
        // In units of 512 bytes.
        let outcome = scene.fails("ulimit -f 8192; exec \"$0\" \"$@\"", publisher);
        check_failure(&outcome, &["limited.mcap", "file too large", "Try: runnel bag reindex"]);
        let messages = scene.repaired(&scene.bag);
        assert!(messages > 20 && messages < COUNT as u64, "{messages} messages in 4 MiB");
    }
}

#[test]
fn read_only_disk_is_refused() {
    let scene = Scene::new("disk/new.mcap");
    std::fs::create_dir(scene.bag.parent().expect("a folder")).expect("a folder");
    let script = "mount -t tmpfs -o ro disk disk && exec \"$0\" \"$@\"";
    let refused = outcome(scene.script(script));
    check_failure(&refused, &["disk/new.mcap: cannot create the file", "Read-only file system"]);
}

/// Each call of io_uring, or each write where there is no io_uring, takes 0.2 s.
#[test]
fn slow_disk_delays_no_publisher() {
    const SLOW: &str = "exec strace -f -qq -o /dev/null -e trace=io_uring_enter,pwrite64,fdatasync \
                        -e inject=io_uring_enter,pwrite64,fdatasync:delay_enter=200000 \"$0\" \"$@\" --queue 10";
    for publisher in PUBLISHERS {
        let scene = Scene::new("slow.mcap");
        let graph = scene.master.graph();
        let listener =
            ready(graph.listener(Origin::Roscpp, &[&["/data", "--count", "200"][..], &TYPE].concat()));
        let mut recorder = Recorder::new(scene.script(SLOW));
        let talker = [&["/data", "--wait", "2"][..], &MESSAGES, &TYPE].concat();
        let mut talker = graph.talker(publisher, &talker);
        check_all_received(&mut talker, &mut [listener], COUNT);
        recorder.wait_for_all(COUNT as u64);
        let counts = recorder.end()["topics"]["/data"].clone();
        let count = |name: &str| counts[name].as_u64().expect("a number");
        assert!(count("messages") > 0 && count("dropped") > 0, "{counts}");
        assert_eq!(
            ["messages", "dropped", "lost", "refused"].map(count).iter().sum::<u64>(),
            COUNT as u64,
            "{counts}"
        );
    }
}
