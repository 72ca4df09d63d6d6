//! An actor that makes several changes at once, like the threads of one process. Concurrent appends
//! share a version.

use std::sync::Arc;

use futures::future::join_all;
use rand::Rng;

use super::actors::Actor;
use super::plan::Crowd;

impl Actor {
    /// Makes one crowd of changes after the other. If the actor dies, its whole crowd ends.
    pub(crate) async fn append_at_once(mut self, crowds: Vec<Crowd>) {
        for crowd in crowds {
            let world = Arc::clone(&self.world);
            let mut attempts = Vec::new();
            for work in &crowd.works {
                let table = self.life.another_handle(&world, self.random.random());
                attempts.push(self.life.attempt(&world, table, work));
            }
            let impatient = attempts.split_off(attempts.len() - crowd.impatient);
            let doing = async move {
                let (impatient, mut patient) = (join_all(impatient), join_all(attempts));
                tokio::select! {
                    biased;
                    _ = &mut patient => {}
                    _ = impatient => drop(patient.await),
                }
            };
            if self.life.survive(doing).await.is_none() {
                self.be_reborn();
            }
            if self.random.random_bool(0.3) {
                self.look_at_latest().await;
            }
        }
    }
}
