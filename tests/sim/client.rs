//! A client of the simulated store, as lakebed sees it. Every call becomes requests that wait for
//! the scheduler.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::network::{ClientId, Network};
use super::request::{About, Answer, Request, Span};

/// One client. The network answers its requests.
#[derive(Debug, Clone)]
pub(crate) struct SimClient {
    network: Arc<Network>,
    id: ClientId,
}

impl SimClient {
    pub(crate) fn new(network: &Arc<Network>, id: ClientId) -> Self {
        Self { network: Arc::clone(network), id }
    }

    async fn ask(&self, request: Request) -> Result<Answer> {
        self.network.ask(self.id, request).await
    }

    fn pages(&self, prefix: Option<&Path>, after: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let folder = prefix.map_or(String::new(), |prefix| format!("{prefix}/"));
        let after = after.map_or(String::new(), ToString::to_string);
        let client = self.clone();
        let pages = stream::unfold(Some(after), move |after| {
            let (client, folder) = (client.clone(), folder.clone());
            async move {
                let (found, next) = client.page(folder, after?).await;
                Some((stream::iter(found), next))
            }
        });
        pages.flatten().boxed()
    }

    /// Requests one page. Returns it, and the name after which the next page begins.
    async fn page(&self, folder: String, after: String) -> (Vec<Result<ObjectMeta>>, Option<String>) {
        match self.ask(Request::List { folder, after }).await {
            Ok(Answer::Page { objects, is_last }) => {
                let next = objects.last().filter(|_| !is_last).map(|last| last.path.clone());
                (objects.iter().map(|about| Ok(meta(about))).collect(), next)
            }
            Ok(_) => (vec![Err(Error::NotImplemented { operation: "list".into(), implementer: "simulated".into() })], None),
            Err(error) => (vec![Err(error)], None),
        }
    }
}

fn meta(about: &About) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(about.path.as_str()),
        last_modified: chrono::DateTime::from_timestamp_millis(about.written_ms).unwrap(),
        size: about.size,
        e_tag: None,
        version: None,
    }
}

fn unknown<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented { operation: operation.to_owned(), implementer: "simulated".to_owned() })
}

impl fmt::Display for SimClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("simulated")
    }
}

#[async_trait]
impl ObjectStore for SimClient {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let only_new = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => return unknown("update"),
        };
        self.ask(Request::Put { path: location.to_string(), only_new, bytes: payload.into() }).await?;
        Ok(PutResult { e_tag: None, version: None })
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        unknown("upload in parts")
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.ask(Request::Get { path: location.to_string(), span: Span::of(&options) }).await? {
            Answer::Found { bytes, range, about } => Ok(GetResult {
                payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
                meta: meta(&about),
                range,
                attributes: Attributes::new(),
            }),
            _ => unknown("get"),
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let client = self.clone();
        let delete = move |location: Result<Path>| {
            let client = client.clone();
            async move {
                let location = location?;
                client.ask(Request::Delete { path: location.to_string() }).await.map(|_| location)
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.pages(prefix, None)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.pages(prefix, Some(offset))
    }

    /// Collects the result from all objects below the folder.
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let (mut objects, mut folders) = (Vec::new(), BTreeSet::new());
        let mut below = self.pages(prefix, None);
        while let Some(object) = below.try_next().await? {
            let above = prefix.map_or(0, |prefix| prefix.parts().count());
            let mut parts = object.location.parts().skip(above);
            match (parts.next(), parts.next()) {
                (Some(folder), Some(_)) => {
                    folders.insert(prefix.map_or_else(Path::default, Path::clone).join(folder));
                }
                _ => objects.push(object),
            }
        }
        Ok(ListResult { common_prefixes: folders.into_iter().collect(), objects })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unknown("copy")
    }
}
