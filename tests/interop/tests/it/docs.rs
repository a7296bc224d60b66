//! Tests of the documentation: every code block that a reader is to type is run as written.
//!
//! The info string of a fence gives the kind of a block: `file=NAME` is written to that file, `more=NAME` is appended to
//! it, `excerpt` must compile as part of a program, `background` keeps running in its own terminal, `output` must occur in the output of the
//! preceding commands, `doctest` is run by the documentation tests of the crate that it shows, and `unchecked` needs
//! something that tests do not have. Other `sh` blocks are run to their end, in one shell session.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::time::Instant;

use interop::distros::{Distro, python};
use interop::{Ros1Graph, projects, wait_until};
use runnel_testkit::process::{Peer, deadline_in, free_port};

/// Time limit of a command in seconds, including builds and waiting for those of other documents.
const TIMEOUT: u64 = 600;

/// Definitions that excerpts may use.
const EXCERPT: &str = "\
#![allow(dead_code, unused)]
use runnel::{Borrowed, Context, Node, msgs::sensor_msgs::msg::Image};
fn main() {}
fn capture<T>(_pixels: &mut T) {}
type Excerpt = Result<(), Box<dyn std::error::Error>>;
";

/// A block of a document.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// The words of the info string.
    words: Vec<String>,
    text: String,
    /// The number of its first line.
    line: usize,
}

/// The folder in which all documents are run, empty except for this repository. Each document creates other folders.
fn home() -> PathBuf {
    static EMPTIED: Once = Once::new();
    let home = projects::folder();
    EMPTIED.call_once(|| {
        for entry in fs::read_dir(&home).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            // Another test may be building there.
            if path.file_name().is_some_and(|name| name == projects::REPOSITORY) {
                continue;
            }
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("no test but this one uses it");
        }
    });
    home
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(words), None) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { words, text: String::new(), line: index + 1 });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    blocks
}

/// Executes the blocks of a document.
struct Reader {
    page: &'static str,
    graph: Ros1Graph,
    /// The folder that contains this repository as `runnel`.
    home: PathBuf,
    /// Current folder of the shell.
    folder: PathBuf,
    background: Vec<Peer>,
    /// The last commands, and their output.
    last: String,
    printed: String,
    commands: u32,
    /// The program of all excerpts.
    excerpts: String,
    /// Variables of the shell besides those of every page.
    variables: Vec<(&'static str, String)>,
}

impl Reader {
    fn new(page: &'static str) -> Self {
        let home = home();
        let graph = Ros1Graph::at(format!("http://127.0.0.1:{}", free_port()));
        let folder = home.clone();
        Self {
            graph,
            page,
            home,
            folder,
            background: Vec::new(),
            last: String::new(),
            printed: String::new(),
            commands: 0,
            excerpts: EXCERPT.to_owned(),
            variables: Vec::new(),
        }
    }

    /// A reader whose `python3` has rclpy and example_interfaces.
    fn with_rclpy(page: &'static str) -> Self {
        let mut reader = Self::new(page);
        let python = python(Distro::Kilted);
        let folder = python.parent().expect("a folder").display();
        let path =
            format!("{folder}:{}:{}", interop::folder().display(), std::env::var("PATH").unwrap_or_default());
        let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rclpy");
        // Behind the standard library, which has modules of the same names.
        let prepare = format!(
            "import sys; sys.path.append({peers:?}); \
             from generated import INTO, prepare; prepare('example_interfaces'); print(INTO)"
        );
        let mut command = Command::new(&python);
        command.args(["-c", &prepare]).env("PYTHONDONTWRITEBYTECODE", "1");
        let prepared = command.output().expect("Python");
        assert!(prepared.status.success(), "{}", String::from_utf8_lossy(&prepared.stderr));
        let generated = String::from_utf8_lossy(&prepared.stdout).trim().to_owned();
        let log = reader.home.join("ros_log").display().to_string();
        reader.variables = vec![
            ("PATH", path),
            ("PYTHONPATH", generated),
            ("PYTHONUNBUFFERED", "1".to_owned()),
            ("ROS_LOG_DIR", log),
        ];
        reader
    }

    fn read(mut self) {
        let document = self.page;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{document}: {error}"));
        for block in blocks(&text) {
            let place = format!("{document}, line {}", block.line);
            let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
            match words.as_slice() {
                // Nothing to type, as in a drawing.
                [] | [_, "unchecked"] | ["rust", "doctest"] => {}
                [_, word] if word.starts_with("file=") => self.write(&word["file=".len()..], &block.text),
                [_, word] if word.starts_with("more=") => self.append(&word["more=".len()..], &block.text),
                ["rust", "excerpt"] => self.add_excerpt(&block),
                ["sh"] => self.run(&block.text, &place),
                ["sh", "background"] => self.run_in_background(&block.text),
                ["text", "output"] => self.has_printed(&block.text, &place),
                other => panic!("{place}: a block of {other:?}"),
            }
        }
        if self.excerpts != EXCERPT {
            self.compile_excerpts(document);
        }
    }

    /// Waits until the master answers, as a reader would: without a master some commands search only ROS 2.
    fn run_in_background(&mut self, script: &str) {
        self.background.push(self.shell(script));
        if script.contains("runnel master") {
            let master = self.graph.master_uri().trim_start_matches("http://").to_owned();
            wait_until("the master answers", deadline_in(TIMEOUT), || TcpStream::connect(&master).is_ok());
        }
    }

    fn add_excerpt(&mut self, Block { text, line, .. }: &Block) {
        self.excerpts.push_str(&format!(
            "fn line_{line}(context: Context, node: Node, \
             frames: std::sync::mpsc::Sender<Borrowed<Image>>, lost: u64, exposure: f64) -> Excerpt {{\n\
             {text};\nOk(())\n}}\n"
        ));
    }

    fn compile_excerpts(&mut self, document: &str) {
        self.folder = self.home.clone();
        let name = Path::new(document).file_stem().and_then(OsStr::to_str).expect("a name in UTF-8");
        let name = format!("excerpts_{}", name.to_lowercase().replace('-', "_"));
        self.run(
            &format!(
                "cargo new {name} && cd {name} && \
                 cargo add runnel --path ../runnel/crates/runnel --features all_msgs,lifecycle,tf"
            ),
            document,
        );
        self.write("src/main.rs", &self.excerpts);
        // The other projects are built; checking these would check all their dependencies a second time.
        self.run("cargo build", &format!("{document}, its excerpts"));
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    /// Appends to a file that an earlier block has begun.
    fn append(&self, name: &str, text: &str) {
        let file = self.folder.join(name);
        let begun = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        fs::write(file, begun + text).expect("a file");
    }

    fn run(&mut self, script: &str, place: &str) {
        self.commands += 1;
        let end = self.home.join(format!(".end-{}-{}", self.page.replace('/', "-"), self.commands));
        // A node that has just been started may not be visible yet.
        wait_until(&format!("{place} succeeds:\n{script}"), deadline_in(TIMEOUT), || {
            self.background_goes_on();
            let mut shell = self.shell(&format!("set -e\n{script}\npwd >{}", end.display()));
            let succeeded = shell.wait_exit(deadline_in(TIMEOUT)).is_ok_and(|status| status.success());
            self.printed = shell.output();
            succeeded
        });
        self.last = script.to_owned();
        self.folder = fs::read_to_string(end).expect("where the shell has come").trim().into();
    }

    fn shell(&self, script: &str) -> Peer {
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(&self.folder).env("ROS_MASTER_URI", self.graph.master_uri());
        let programs = interop::folder().display().to_string();
        command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()));
        projects::share_builds(&mut command);
        command.env("ROS_IP", "127.0.0.1");
        for (variable, value) in &self.variables {
            command.env(variable, value);
        }
        Peer::spawn("bash", command).expect("a shell")
    }

    /// Checks that each line has been printed by the last commands or by one in the background, or is printed when
    /// the commands are repeated.
    fn has_printed(&mut self, lines: &str, place: &str) {
        for line in lines.lines() {
            wait_until(&format!("{place}: {line}\nbut {}", self.printed), deadline_in(TIMEOUT), || {
                self.background_goes_on();
                let mut texts = self.background.iter().map(Peer::output).chain([self.printed.clone()]);
                let found = texts.any(|text| text.contains(line));
                if !found {
                    let mut again = self.shell(&self.last);
                    let _ = again.wait_exit(deadline_in(TIMEOUT));
                    self.printed = again.output();
                }
                found
            });
        }
    }

    fn background_goes_on(&mut self) {
        for peer in &mut self.background {
            let ended = peer.wait_exit(Instant::now()).ok();
            assert_eq!(ended, None, "{}", peer.output());
        }
    }
}

#[test]
fn readme_blocks_work() {
    Reader::new("README.md").read();
}

/// The first command of the README in debug mode: `cargo run` selects the intended program.
#[test]
#[ignore = "in ./test --full"]
fn cargo_run_defaults_to_the_command() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("cargo");
    command.args(["run", "--locked", "--", "--version"]).current_dir(&repository);
    // Other tests use the built programs with the tests' features.
    projects::share_builds(&mut command);
    let mut peer = Peer::spawn("cargo", command).expect("cargo");
    let succeeded = peer.wait_exit(deadline_in(TIMEOUT)).is_ok_and(|status| status.success());
    assert!(succeeded && peer.output().contains("runnel 0."), "{}", peer.output());
}

#[test]
fn concepts_page_blocks_work() {
    Reader::new("docs/concepts.md").read();
}

#[test]
fn nodes_page_blocks_work() {
    Reader::new("docs/nodes.md").read();
}

#[test]
fn execution_page_blocks_compile() {
    Reader::new("docs/execution.md").read();
}

#[test]
fn parameters_page_blocks_compile() {
    Reader::new("docs/parameters.md").read();
}

#[test]
fn logging_page_blocks_compile() {
    Reader::new("docs/logging.md").read();
}

#[test]
fn time_page_blocks_compile() {
    Reader::new("docs/time.md").read();
}

#[test]
fn lifecycle_page_blocks_compile() {
    Reader::new("docs/lifecycle.md").read();
}

#[test]
fn tf_page_blocks_compile() {
    Reader::new("docs/tf.md").read();
}

#[test]
fn commands_page_blocks_work() {
    Reader::new("docs/commands.md").read();
}

#[test]
fn bags_page_blocks_work() {
    let mut reader = Reader::new("docs/bags.md");
    // It records all topics: those of other pages are in another domain.
    reader.variables.push(("ROS_DOMAIN_ID", "22".to_owned()));
    reader.read();
}

#[test]
fn datagrams_page_blocks_work() {
    Reader::new("docs/udpros.md").read();
}

#[test]
fn wasm_page_blocks_work() {
    Reader::new("docs/wasm.md").read();
}

#[test]
fn placement_page_blocks_work() {
    Reader::new("docs/placement.md").read();
}

#[test]
fn tutorial_blocks_work() {
    Reader::new("docs/tutorial.md").read();
}

#[test]
fn line_tracer_page_blocks_work() {
    Reader::new("docs/line-tracer.md").read();
}

#[test]
fn porting_page_programs_work() {
    Reader::new("docs/coming-from.md").read();
}

#[test]
fn rclpy_page_programs_work() {
    Reader::with_rclpy("docs/from-rclpy.md").read();
}

/// Lines that say something: not empty, and not only closing brackets.
fn statements(blocks: &[Block], language: &str) -> usize {
    let is_of_language = |block: &&Block| {
        let file =
            block.words.get(1).is_some_and(|word| word.starts_with("file=") || word.starts_with("more="));
        block.words[0] == language && file
    };
    let lines = blocks.iter().filter(is_of_language).flat_map(|block| block.text.lines());
    lines.filter(|line| line.chars().any(char::is_alphanumeric)).count()
}

#[test]
fn rust_programs_of_rclpy_page_are_not_longer() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-rclpy.md");
    let blocks = blocks(&fs::read_to_string(page).expect("the page"));
    let [python, rust] = ["python", "rust"].map(|language| statements(&blocks, language));
    assert!(rust > 50 && rust <= python, "{rust} lines in Rust, {python} in Python");
}

#[test]
fn every_document_block_is_run() {
    let run = [
        "README.md",
        "bags.md",
        "coming-from.md",
        "commands.md",
        "concepts.md",
        "execution.md",
        "from-rclpy.md",
        "lifecycle.md",
        "logging.md",
        "nodes.md",
        "parameters.md",
        "placement.md",
        "tf.md",
        "time.md",
        "udpros.md",
        "tutorial.md",
        "line-tracer.md",
        "wasm.md",
    ];
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let in_folder = |folder: PathBuf| {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
    };
    let documents = in_folder(repository.join("docs")).chain(in_folder(repository.clone()));
    for document in documents.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let name = document.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let text = fs::read_to_string(&document).expect("a document");
        let unrun = blocks(&text)
            .into_iter()
            .find(|block| block.words.last().is_some_and(|word| word != "unchecked"));
        assert!(unrun.is_none() || run.contains(&name), "{name}: {unrun:?}");
    }
}

#[test]
fn document_is_split_into_blocks() {
    let document = "a\n```sh\ncd x\nls\n```\nb\n```text file=a/b\nhello\n```\n";
    let [shell, file] = &blocks(document)[..] else { panic!("two blocks") };
    assert_eq!(
        (shell.words.as_slice(), shell.text.as_str(), shell.line),
        (&["sh".to_owned()][..], "cd x\nls\n", 2)
    );
    assert_eq!((file.words[1].as_str(), file.text.as_str()), ("file=a/b", "hello\n"));
}
