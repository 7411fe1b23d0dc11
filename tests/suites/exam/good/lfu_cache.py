import asyncio
import time
from contextlib import asynccontextmanager


class TransactionError(Exception):
    pass


class TransactionConflict(TransactionError):
    pass


class Node:
    __slots__ = ("key", "value", "expires_at", "stamp", "bucket", "prev", "next", "__weakref__")

    def __init__(self, key=None, value=None, expires_at=None, stamp=0):
        self.key, self.value, self.expires_at, self.stamp = key, value, expires_at, stamp
        self.bucket = None
        self.prev = self.next = None


class Bucket:
    """All nodes of one frequency, oldest use first, in a ring; buckets form a chain by frequency."""

    __slots__ = ("frequency", "head", "lower", "higher")

    def __init__(self, frequency):
        self.frequency = frequency
        self.head = Node()
        self.head.prev = self.head.next = self.head
        self.lower = self.higher = None

    @property
    def empty(self):
        return self.head.next is self.head

    def append(self, node):
        last = self.head.prev
        last.next = self.head.prev = node
        node.prev, node.next, node.bucket = last, self.head, self

    def remove(self, node):
        node.prev.next, node.next.prev = node.next, node.prev
        node.prev = node.next = node.bucket = None


class LFUCache:
    def __init__(self, capacity, *, default_ttl=None, clock=time.monotonic):
        if capacity < 0:
            raise ValueError("capacity")
        if default_ttl is not None and default_ttl <= 0:
            raise ValueError("default_ttl")
        self.capacity, self.default_ttl, self.clock = capacity, default_ttl, clock
        self.nodes = {}
        self.bottom = Bucket(0)
        self.lock = asyncio.Lock()
        self.pending = {}
        self.counter = 0

    # everything below this line that does not await is called under the lock

    def _bucket_after(self, bucket, frequency):
        following = bucket.higher
        if following is not None and following.frequency == frequency:
            return following
        made = Bucket(frequency)
        made.lower, made.higher = bucket, following
        bucket.higher = made
        if following is not None:
            following.lower = made
        return made

    def _drop_if_empty(self, bucket):
        if bucket.empty and bucket is not self.bottom:
            bucket.lower.higher = bucket.higher
            if bucket.higher is not None:
                bucket.higher.lower = bucket.lower

    def _touch(self, node):
        bucket = node.bucket
        target = self._bucket_after(bucket, bucket.frequency + 1)
        bucket.remove(node)
        target.append(node)
        self._drop_if_empty(bucket)

    def _forget(self, node):
        bucket = node.bucket
        bucket.remove(node)
        self._drop_if_empty(bucket)
        del self.nodes[node.key]

    def _find(self, key):
        node = self.nodes.get(key)
        if node is not None and node.expires_at is not None and self.clock() >= node.expires_at:
            self._forget(node)
            return None
        return node

    def _store(self, key, value, ttl):
        ttl = self.default_ttl if ttl is None else ttl
        expires_at = None if ttl is None else self.clock() + ttl
        self.counter += 1
        node = self._find(key)
        if node is not None:
            node.value, node.expires_at, node.stamp = value, expires_at, self.counter
            self._touch(node)
            return
        if self.capacity == 0:
            return
        if len(self.nodes) >= self.capacity:
            self._forget(self.bottom.higher.head.next)
        node = self.nodes[key] = Node(key, value, expires_at, self.counter)
        self._bucket_after(self.bottom, 1).append(node)

    async def get(self, key, default=None):
        async with self.lock:
            node = self._find(key)
            if node is None:
                return default
            self._touch(node)
            return node.value

    async def put(self, key, value, *, ttl=None):
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl")
        async with self.lock:
            self._store(key, value, ttl)

    async def delete(self, key):
        async with self.lock:
            node = self._find(key)
            if node is None:
                return False
            self._forget(node)
            return True

    async def frequency(self, key):
        async with self.lock:
            node = self._find(key)
            return 0 if node is None else node.bucket.frequency

    async def size(self):
        async with self.lock:
            return sum(1 for key in list(self.nodes) if self._find(key) is not None)

    async def purge(self):
        async with self.lock:
            before = len(self.nodes)
            for key in list(self.nodes):
                self._find(key)
            return before - len(self.nodes)

    async def get_or_load(self, key, loader, *, ttl=None):
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl")
        async with self.lock:
            node = self._find(key)
            if node is not None:
                self._touch(node)
                return node.value
            future = self.pending.get(key)
            if future is None:
                future = self.pending[key] = asyncio.get_running_loop().create_future()
                self.tasks = {task for task in getattr(self, "tasks", ()) if not task.done()}
                self.tasks.add(asyncio.create_task(self._run_loader(key, loader, ttl, future)))
        return await asyncio.shield(future)

    async def _run_loader(self, key, loader, ttl, future):
        try:
            value = await loader()
            await self.put(key, value, ttl=ttl)
        except BaseException as error:
            self.pending.pop(key, None)
            future.set_exception(error)
            future.exception()
            if not isinstance(error, Exception):
                raise
        else:
            self.pending.pop(key, None)
            future.set_result(value)

    @asynccontextmanager
    async def _scope(self, tx):
        try:
            yield tx
        except BaseException:
            if not tx.finished:
                await tx.rollback()
            raise
        if not tx.finished:
            await tx.commit()

    def transaction(self):
        return Transaction(self)


GONE = object()


class Transaction:
    def __init__(self, cache):
        self.cache, self.finished = cache, False
        self.first_seen, self.changes = {}, {}

    async def __aenter__(self):
        self.scope = self.cache._scope(self)
        return await self.scope.__aenter__()

    async def __aexit__(self, *details):
        return await self.scope.__aexit__(*details)

    async def _look(self, key):
        if self.finished:
            raise TransactionError("finished")
        if key not in self.first_seen:
            async with self.cache.lock:
                node = self.cache._find(key)
                self.first_seen[key] = (0, GONE) if node is None else (node.stamp, node.value)
        return self.first_seen[key][1]

    async def get(self, key, default=None):
        value = await self._look(key)
        if key in self.changes:
            value = self.changes[key][0]
        return default if value is GONE else value

    async def put(self, key, value, *, ttl=None):
        await self._look(key)
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl")
        self.changes[key] = (value, ttl)

    async def delete(self, key):
        there = await self.get(key, GONE) is not GONE
        self.changes[key] = (GONE, None)
        return there

    async def commit(self):
        if self.finished:
            raise TransactionError("finished")
        self.finished = True
        async with self.cache.lock:
            for key, (stamp, _) in self.first_seen.items():
                node = self.cache._find(key)
                if (0 if node is None else node.stamp) != stamp:
                    raise TransactionConflict(repr(key))
            for key, (value, ttl) in self.changes.items():
                if value is not GONE:
                    self.cache._store(key, value, ttl)
                elif (node := self.cache._find(key)) is not None:
                    self.cache._forget(node)

    async def rollback(self):
        if self.finished:
            raise TransactionError("finished")
        self.finished = True
        self.changes.clear()
