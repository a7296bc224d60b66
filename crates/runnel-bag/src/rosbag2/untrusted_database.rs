//! SQLite file of unknown origin: its schema can have code, and its pages can form loops.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::Error;

/// Tables that are read.
const TABLES: [&str; 3] = ["topics", "messages", "message_definitions"];

/// Shortest and longest limit of a value's length in bytes, which is otherwise that of the file. SQLite has the second.
const VALUE_LIMITS: [u64; 2] = [1 << 20, 1_000_000_000];

/// Steps of SQLite's virtual machine between two checks of the budget.
const STEPS: u64 = 100_000;

/// Steps that a query of any file may take.
const BASE_BUDGET: u64 = 10_000_000;

/// Steps that a query may take for each byte of the file: a row takes some, and has some bytes.
const BUDGET_PER_BYTE: u64 = 16;

/// Steps that the current query may still take.
pub(super) struct Budget {
    most: u64,
    left: Arc<AtomicU64>,
}

/// Opens a file to read plain tables.
///
/// # Errors
/// [`Error::Database`] when the file cannot be read or computes values instead of storing them.
pub(super) fn open(path: &Path) -> Result<(Connection, Budget), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let len = std::fs::metadata(path)?.len();
    let [shortest, longest] = VALUE_LIMITS;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, len.clamp(shortest, longest) as i32)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let most = BASE_BUDGET.saturating_add(len.saturating_mul(BUDGET_PER_BYTE));
    let budget = Budget::new(&mut connection, most)?;
    for table in TABLES {
        check_table(&connection, table)?;
    }
    Ok((connection, budget))
}

impl Budget {
    fn new(connection: &mut Connection, most: u64) -> Result<Self, Error> {
        let left = Arc::new(AtomicU64::new(most));
        let budget = Arc::clone(&left);
        let is_exhausted = move || {
            let left = budget.load(Ordering::Relaxed).saturating_sub(STEPS);
            budget.store(left, Ordering::Relaxed);
            left == 0
        };
        connection.progress_handler(STEPS as i32, Some(is_exhausted))?;
        Ok(Self { most, left })
    }

    /// Gives the next query all of it.
    pub(super) fn renew(&self) {
        self.left.store(self.most, Ordering::Relaxed);
    }
}

/// Whether the table may be read: it may be missing, but must not be a view, a virtual table or have computed columns.
fn check_table(connection: &Connection, table: &str) -> Result<(), Error> {
    let query = "SELECT 1 FROM pragma_table_list WHERE name = ?1 COLLATE NOCASE AND type <> 'table'";
    let is_computed = connection.prepare(query)?.exists([table])?;
    let query = "SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden <> 0";
    if is_computed || connection.prepare(query)?.exists([table])? {
        return Err(Error::Database(format!("{table} is no plain table")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_query_is_interrupted() {
        let mut connection = Connection::open_in_memory().unwrap();
        let budget = Budget::new(&mut connection, 3 * STEPS).unwrap();
        let count = |most: &str| {
            let query = format!(
                "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers {most})
                 SELECT COUNT(*) FROM numbers"
            );
            connection.query_row(&query, [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(count("").unwrap_err().to_string(), "interrupted");
        budget.renew();
        assert_eq!(count("WHERE n < 1000").unwrap(), 1000);
    }
}
