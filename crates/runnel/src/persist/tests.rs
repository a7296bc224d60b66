//! What is kept, through full disks, damaged files and links.

use std::process::Command;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("runnel_persist_{name}_{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("params")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(key: &str, value: impl Into<Value>) -> ParamChange {
    ParamChange { key: key.to_owned(), value: Some(value.into()) }
}

fn start(folder: &Folder) -> PersistentMaster {
    PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file()).expect("a master")
}

fn warnings(master: &mut PersistentMaster) -> Vec<String> {
    let notices = std::iter::from_fn(|| master.poll_notice());
    notices.filter_map(|notice| if let Notice::Warning(text) = notice { Some(text) } else { None }).collect()
}

#[test]
fn what_was_kept_is_there_again() {
    let folder = Folder::new("again");
    let mut master = start(&folder);
    let text = "<a> & \"b\"\n17\n";
    let list = Value::Array(vec![1.5.into(), false.into()]);
    for change in [set("/a/b", text), set("/list", list), set("/gone", 3), set("/a/c", i32::MIN)] {
        master.journal.append(&change).expect("kept");
    }
    master.journal.append(&ParamChange { key: "/gone".into(), value: None }).expect("kept");
    drop(master);
    for _ in 0..2 {
        let mut master = start(&folder);
        let Some(Value::Struct(params)) = master.master.params().cloned() else { panic!("parameters") };
        assert_eq!(params.keys().collect::<Vec<_>>(), ["a", "list"]);
        let Value::Struct(below) = &params["a"] else { panic!("{params:?}") };
        assert_eq!((&below["b"], &below["c"]), (&text.into(), &i32::MIN.into()));
        assert_eq!(warnings(&mut master), [""; 0]);
    }
}

#[test]
fn a_change_that_was_cut_off_is_passed_over_and_what_was_before_it_counts() {
    let folder = Folder::new("torn");
    let mut master = start(&folder);
    master.journal.append(&set("/whole", 1)).expect("kept");
    let whole = fs::read(folder.file()).expect("readable");
    master.journal.append(&set("/torn", 2)).expect("kept");
    drop(master);
    let text = fs::read(folder.file()).expect("readable");
    for length in whole.len() + 1..text.len() {
        fs::write(folder.file(), &text[..length]).expect("written");
        let mut master = start(&folder);
        let Some(Value::Struct(params)) = master.master.params() else { panic!("parameters") };
        assert_eq!(params.keys().collect::<Vec<_>>(), ["whole"], "{length}");
        let [warning, kept] = &warnings(&mut master)[..] else { panic!("two warnings at {length}") };
        assert!(warning.contains(&format!("behind byte {}", whole.len())), "{warning}");
        let aside = kept.trim_end_matches(", in place of an older one").split(" is kept as ").last();
        let aside = fs::read(aside.expect("a name")).expect("kept aside");
        assert_eq!(aside, text[..length], "{kept}");
    }
}

#[test]
fn what_is_not_restored_is_kept_aside_and_never_in_place_of_an_older_one_unsaid() {
    let folder = Folder::new("aside");
    let damaged = |ending: &str| folder.0.join(format!("params.damaged{ending}"));
    let mut last = String::new();
    for number in 1..=DAMAGED + 1 {
        let mut text = TITLE.to_vec();
        // The root can be nothing but a struct.
        text.extend(record(&set("/", number as i32)).expect("a record"));
        fs::write(folder.file(), text).expect("written");
        let told = warnings(&mut start(&folder));
        assert!(told[0].starts_with("parameter / is not restored: "), "{told:?}");
        last = told[1].clone();
        assert_eq!(last.contains("in place of an older one"), number > DAMAGED, "{last}");
    }
    let read = |path: PathBuf| fs::read_to_string(path).expect("readable");
    assert!(read(damaged("")).contains(">1<"));
    assert!(read(damaged(".2")).contains(">2<"));
    assert!(read(damaged(".99")).contains(">100<"), "{last}");
}

#[test]
fn a_symbolic_link_stays_and_permissions_too() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("link");
    let target = folder.0.join("target");
    fs::write(&target, "").expect("written");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o604)).expect("set");
    std::os::unix::fs::symlink("target", folder.file()).expect("a link");
    let mut master = start(&folder);
    master.journal.append(&set("/a", 1)).expect("kept");
    assert!(fs::symlink_metadata(folder.file()).expect("there").is_symlink());
    let text = fs::read(&target).expect("readable");
    assert!(text.starts_with(TITLE) && text.len() > TITLE.len());
    let mode = fs::metadata(&target).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o604);
}

#[test]
fn what_is_no_regular_file_is_left_alone() {
    let folder = Folder::new("pipe");
    let made = Command::new("mkfifo").arg(folder.file()).status().expect("run");
    assert!(made.success());
    let master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file());
    let error = master.err().expect("refused").to_string();
    assert!(error.contains("no regular file"), "{error}");
    assert!(!fs::metadata(folder.file()).expect("there").is_file());
}

/// Runs a test again in a process whose files cannot become longer than some kilobytes: a write that passes this
/// stops in the middle, as on a full disk. Tells whether this is that process.
fn with_little_room(test: &str) -> bool {
    if std::env::var_os("RUNNEL_LITTLE_ROOM").is_some() {
        return true;
    }
    let mut again = Command::new("sh");
    again.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
    again.arg(std::env::current_exe().expect("a path"));
    again.args(["--exact", &format!("persist::tests::{test}")]).env("RUNNEL_LITTLE_ROOM", "1");
    let output = again.output().expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

fn change(master: &mut PersistentMaster, change: &ParamChange) -> Vec<String> {
    master.master.restore_param(change).expect("set");
    master.keep_change(change);
    warnings(master)
}

#[test]
fn a_change_that_could_not_be_written_is_so_with_the_next() {
    if !with_little_room("a_change_that_could_not_be_written_is_so_with_the_next") {
        return;
    }
    let folder = Folder::new("full");
    let mut master = start(&folder);
    let long = "x".repeat(1000);
    let mut failed = Vec::new();
    for number in 0..40 {
        let told = change(&mut master, &set("/again", format!("{number} {long}")));
        assert!(told.is_empty() || told[0].contains("/again is not kept"), "{told:?}");
        failed.push(!told.is_empty());
    }
    assert!(failed.contains(&true), "the room is too much");
    assert!(!failed.windows(2).any(|two| two == [true, true]), "{failed:?}");
    // The second is there for the case that the first just found no room.
    if !change(&mut master, &set("/first", 1)).is_empty() {
        assert_eq!(change(&mut master, &set("/second", 2)), [""; 0]);
    }
    drop(master);
    let mut master = start(&folder);
    assert_eq!(warnings(&mut master), [""; 0]);
    let Some(Value::Struct(params)) = master.master.params() else { panic!("parameters") };
    assert_eq!((&params["again"], &params["first"]), (&format!("39 {long}").into(), &1.into()));
}

#[test]
fn what_finds_no_room_does_not_keep_out_what_does() {
    if !with_little_room("what_finds_no_room_does_not_keep_out_what_does") {
        return;
    }
    let folder = Folder::new("room");
    let mut master = start(&folder);
    let told = change(&mut master, &set("/big", "x".repeat(10_000)));
    assert!(matches!(&told[..], [one] if one.contains("/big is not kept")), "{told:?}");
    assert_eq!(fs::read(folder.file()).expect("readable"), TITLE, "no half of /big stands there");
    assert_eq!(change(&mut master, &set("/small", 1)), [""; 0]);
    assert!(!folder.0.join("params.new").exists());
    assert_eq!(change(&mut master, &ParamChange { key: "/big".into(), value: None }), [""; 0]);
    drop(master);
    let again = fs::read(folder.file()).expect("readable");
    assert!(!String::from_utf8_lossy(&again).contains("/big"), "it was written anew");
    let master = start(&folder);
    let Some(Value::Struct(params)) = master.master.params() else { panic!("parameters") };
    assert_eq!(params.keys().collect::<Vec<_>>(), ["small"]);
}

#[test]
fn a_journal_of_one_parameter_that_changes_all_the_time_stays_short() {
    let folder = Folder::new("short");
    let mut master = start(&folder);
    let long = "x".repeat(10_000);
    for number in 0..1000 {
        let change = set("/pose", format!("{number} {long}"));
        master.master.restore_param(&change).expect("set");
        master.journal.append(&change).expect("kept");
        master.journal.shorten(master.master.params()).expect("kept");
    }
    assert!(fs::metadata(folder.file()).expect("there").len() <= SHORT + 20_000);
    drop(master);
    let Some(Value::Struct(params)) = start(&folder).master.params().cloned() else { panic!("parameters") };
    assert_eq!(params["pose"], format!("999 {long}").into());
}

#[test]
fn two_masters_do_not_share_a_file() {
    let folder = Folder::new("two");
    let _first = start(&folder);
    let second = PersistentMaster::new(MasterConfig::new("http://h:2/", 2), &folder.file());
    let error = second.err().expect("refused").to_string();
    assert!(error.contains("another master keeps its parameters there"), "{error}");
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let folder = Folder::new("other");
    fs::write(folder.file(), "speed: 3\n").expect("written");
    let master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file());
    let error = master.err().expect("refused").to_string();
    assert!(error.contains("it holds something else"), "{error}");
    assert_eq!(fs::read(folder.file()).expect("readable"), b"speed: 3\n");
}
