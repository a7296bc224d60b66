//! Streams on files of the operating system, by each method that the system allows.

use std::fs;
use std::path::{Path, PathBuf};
use std::{env, process};

use runnel_bag::disk::{BlockWriter, File};
use runnel_bag::files;
use runnel_io::direct_file::{Method, Options};

use crate::random::{Random, repetitions};

/// An empty folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("runnel_bag_{name}_{}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file that is written by this method, unless the system refuses it. The page cache is always there.
pub fn create(path: &Path, method: Method, buffer_len: usize) -> Option<File> {
    let options = Options { methods: vec![method], buffer_len, ..Options::default() };
    match files::create_with(path, &options) {
        Ok(file) => Some(file),
        Err(error) => {
            assert_ne!(method, Method::WriteBack, "{error}");
            eprintln!("not tested: {error}");
            None
        }
    }
}

/// Appends random pieces, and now and then changes bytes, flushes, and syncs. Returns the bytes.
fn write_randomly(mut writer: BlockWriter<File>, len: usize, random: &mut Random) -> Vec<u8> {
    let mut written = Vec::new();
    while written.len() < len {
        let longest = [1, 100, 5000, 100_000][random.below(4) as usize];
        let piece = (1 + random.below(longest) as usize).min(len - written.len());
        let bytes: Vec<u8> = (0..piece).map(|_| random.next() as u8).collect();
        writer.append(&bytes).unwrap();
        written.extend(bytes);
        match random.below(20) {
            0..4 => writer.flush().unwrap(),
            4 => writer.sync().unwrap(),
            5 if writer.patchable_from() < writer.position() => {
                let at = writer.patchable_from();
                writer.patch(at, &[7]);
                written[at as usize] = 7;
            }
            _ => {}
        }
    }
    writer.finish().unwrap();
    written
}

#[test]
fn files_have_the_written_bytes() {
    let folder = Folder::new("bytes");
    let path = folder.path().join("file");
    let mut random = Random::new(1);
    for method in Method::ALL {
        for round in 0..repetitions(40, 400) {
            let Some(file) = create(&path, method, 32 << 10) else { break };
            let len = [0, 1, 511, 512, 4095, 4096, 4097, 32 << 10][round as usize % 8];
            let len = len + (round / 8) as usize * random.below(60_000) as usize;
            let written = write_randomly(BlockWriter::new(file), len, &mut random);
            assert!(fs::read(&path).unwrap() == written, "{method}, {len} bytes");
            fs::remove_file(&path).unwrap();
        }
    }
}
