//! temporary
use lakebed::upkeep::NewCommit;
use lakebed_core::log::checksum::FileChanges;

fn peak() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    text.lines().filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS")).collect::<Vec<_>>().join(" ")
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (what, path) = (args[1].as_str(), args[2].as_str());
    let table = lakebed::Table::at(path).open().await.unwrap();
    let snapshot = table.snapshot().await.unwrap();
    let begun = std::time::Instant::now();
    match what {
        "checkpoint" => {
            let outcome = snapshot.checkpoint().await.unwrap();
            println!("{:?} {} {} files={} tombs={} bytes={} last={} crc={}", begun.elapsed(), peak(), outcome.name, outcome.num_files, outcome.num_tombstones, outcome.size_bytes, outcome.is_last, outcome.checksum.is_some());
        }
        "crc" => {
            for version in 0..=snapshot.version() {
                let at = table.snapshot_at(version).await.unwrap();
                let lines = std::fs::read(format!("{path}/_delta_log/{version:020}.json")).unwrap();
                let made = at.put_next_checksum(&NewCommit { lines: lines.into(), changes: FileChanges::Exact, previous: None }).await.unwrap();
                println!("{version} {}", made.is_some());
            }
        }
        "after" => {
            let version = snapshot.version();
            let lines = std::fs::read(format!("{path}/_delta_log/{version:020}.json")).unwrap();
            let outcome = snapshot.after_commit(&NewCommit { lines: lines.into(), changes: FileChanges::Exact, previous: None }).await;
            println!("{:?} {} {:?} {:?} {:?} {:?}", begun.elapsed(), peak(), outcome.checksum.is_some(), outcome.checkpoint.map(|c| c.name), outcome.cleanup, outcome.problems);
        }
        "cleanup" => println!("{:?}", snapshot.clean_up_log().await.unwrap()),
        "compact" => println!("{:?}", snapshot.compact_log(args[3].parse().unwrap()..=args[4].parse().unwrap()).await.unwrap()),
        "history" => for e in snapshot.history(None).await.unwrap() { println!("{} {}", e.version, e.timestamp_ms) },
        _ => panic!(),
    }
}
