//! The wanted paths as a tree, so that one walk through a text finds them all.

use memchr::memmem::Finder;

/// The wanted paths. Each distinct one has a slot.
pub(super) struct Paths {
    nodes: Vec<Node>,
    slots: usize,
}

/// A name on the way to a wanted value.
#[derive(Default)]
struct Node {
    /// By length of their names, then by bytes.
    children: Vec<Child>,
    slot: Option<usize>,
    /// The slots here and below.
    within: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeId(usize);

/// A name under another.
pub(super) struct Child {
    name: Box<[u8]>,
    pub(super) node: NodeId,
    /// Of the name between quotes, as it is written where nothing needs an escape.
    pub(super) quoted: Finder<'static>,
}

/// Up to so many names it is faster to look for each than to walk through an object.
const FEW: usize = 8;

impl Paths {
    pub(super) const ROOT: NodeId = NodeId(0);

    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()], slots: 0 }
    }

    /// Wants this path too and tells its slot.
    pub(super) fn add<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> usize {
        let mut way = vec![Self::ROOT];
        let mut at = Self::ROOT;
        for name in names {
            at = match self.search(at, name.as_bytes()) {
                Ok(child) => child,
                Err(place) => {
                    let child = NodeId(self.nodes.len());
                    self.nodes.push(Node::default());
                    self.nodes[at.0].children.insert(place, Child::new(name, child));
                    child
                }
            };
            way.push(at);
        }
        if let Some(slot) = self.nodes[at.0].slot {
            return slot;
        }
        let slot = self.slots;
        self.slots += 1;
        self.nodes[at.0].slot = Some(slot);
        for node in way {
            self.nodes[node.0].within.push(slot);
        }
        slot
    }

    /// Returns how many distinct paths there are.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the slot of the path that ends here.
    pub(super) fn slot(&self, node: NodeId) -> Option<usize> {
        self.nodes[node.0].slot
    }

    /// Returns the slots of the paths that end here or below.
    pub(super) fn within(&self, node: NodeId) -> &[usize] {
        &self.nodes[node.0].within
    }

    /// Returns whether a path goes on below.
    pub(super) fn goes_on(&self, node: NodeId) -> bool {
        !self.nodes[node.0].children.is_empty()
    }

    /// Where a path goes on under this name.
    pub(super) fn child(&self, node: NodeId, name: &[u8]) -> Option<NodeId> {
        self.search(node, name).ok()
    }

    /// Returns the names under this one, if they are few, no path goes on below them and each can
    /// be looked for.
    pub(super) fn few_leaves(&self, node: NodeId) -> Option<&[Child]> {
        let children = &self.nodes[node.0].children;
        let few = children.len() <= FEW && children.iter().all(|child| child.is_word() && !self.goes_on(child.node));
        few.then_some(children)
    }

    fn search(&self, node: NodeId, name: &[u8]) -> Result<NodeId, usize> {
        let children = &self.nodes[node.0].children;
        let place = children.binary_search_by(|child| (child.name.len(), &*child.name).cmp(&(name.len(), name)))?;
        Ok(children[place].node)
    }
}

impl Child {
    /// Returns whether the name cannot be what stands between the closing quote of one string and
    /// the opening quote of the next.
    fn is_word(&self) -> bool {
        self.name.trim_ascii_start().first().is_some_and(|first| !b",:]}".contains(first))
    }

    fn new(name: &str, node: NodeId) -> Self {
        Self { name: name.as_bytes().into(), node, quoted: Finder::new(&format!("\"{name}\"")).into_owned() }
    }
}
