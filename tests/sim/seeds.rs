//! Running a simulation for many seeds.
//!
//! lakebed keeps parts of data files in caches of the process, so a simulation beside another one
//! does not run exactly as it does alone. Therefore one simulation runs at a time in a process, and
//! there is a process for each core.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The variable that gives a process its seeds: those that leave this remainder when divided by the
/// number of processes.
const SHARE: &str = "LAKEBED_SIM_SHARE";

static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other simulation runs in this process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a simulation for `count` seeds, or for the seeds of the environment. Fails with a seed if
/// its run returns an error, and prints the error. `test` is the name of the calling test.
pub(crate) fn check_each(test: &str, count: u64, run: impl Fn(u64) -> Result<(), String>) {
    let count = number("LAKEBED_SIM_SEEDS").unwrap_or(count);
    let processes = std::thread::available_parallelism().map_or(1, usize::from);
    match (number("LAKEBED_SIM_SEED"), number(SHARE)) {
        (Some(seed), _) => check(seed, &run),
        (None, Some(rest)) => (rest..count).step_by(processes).for_each(|seed| check(seed, &run)),
        (None, None) => check_in(processes, test),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn check(seed: u64, run: &impl Fn(u64) -> Result<(), String>) {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(seed))).unwrap_or_else(|_| Err("it panicked".to_owned()));
    if let Err(problem) = outcome {
        eprintln!("{problem}");
        panic!("failed with LAKEBED_SIM_SEED={seed}");
    }
}

/// Runs the same test in processes of its own.
fn check_in(processes: usize, test: &str) {
    let begin = |share: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(SHARE, share.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..processes).map(begin).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        // A process reports success for a test that it does not have.
        let has_run = String::from_utf8_lossy(&output.stdout).contains("1 passed");
        assert!(output.status.success() && has_run, "{}", String::from_utf8_lossy(&output.stderr));
    }
}
