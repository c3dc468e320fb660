"""The data of the papers: seeds, shapes, what the sets are for, and every way a file can be found."""

import bz2
import http.server
import socket
import threading

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.neighbors import KNeighborsClassifier

from polymargin import datasets
from polymargin.datasets import DatasetNotFound, load, sources

# name: shape of X, number of classes
DRAWN = {
    "make_circle": ((500, 2), 100),
    "make_checker": ((1000, 2), 100),
    "make_clusters": ((20_000, 8), 10),
    "make_two_blobs": ((100, 2), 2),
    "make_star": ((150, 2), 3),
    "make_line": ((150, 1), 3),
    "make_sensitivity_toy": ((300, 5), 3),
    "make_rings": ((300, 52), 3),
    "make_gaussians": ((125_000, 5), 10),
    "make_text_toy": ((300, 47), 7),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_fixes_the_draw(name, seed):
    make = getattr(datasets, name)
    X, y = make(random_state=seed)
    shape, T = DRAWN[name]
    assert X.shape == shape
    assert np.array_equal(np.unique(y), np.arange(T))
    X_again, y_again = make(random_state=seed)
    assert np.array_equal(X, X_again) and np.array_equal(y, y_again)
    assert not np.array_equal(X, make(random_state=seed + 1)[0])


def test_one_generator_gives_two_draws(seed):
    rng = np.random.default_rng(seed)
    assert not np.array_equal(datasets.make_star(random_state=rng)[0], datasets.make_star(random_state=rng)[0])


def test_the_circle_has_neighbors_at_distance_one(seed):
    X, y = datasets.make_circle(12, 400, spread=0.2, random_state=seed)
    centers = np.array([X[y == c].mean(axis=0) for c in range(12)])
    assert np.allclose(np.linalg.norm(centers - np.roll(centers, 1, axis=0), axis=1), 1, atol=0.06)


def test_the_checker_overlaps_by_as_much_as_it_says(seed):
    X, y = datasets.make_checker(9, 500, overlap=0.125, random_state=seed)
    fields = np.column_stack(np.divmod(y, 3))
    reach = np.abs(X - fields).max()
    assert 0.6 < reach <= 0.625


def nearest_neighbor(make, columns, seed):
    (X, y), (X_test, y_test) = make(random_state=[seed, 1]), make(random_state=[seed, 2])
    return KNeighborsClassifier(5).fit(X[:, columns], y).score(X_test[:, columns], y_test)


def test_only_the_useful_features_are_useful(seed):
    toy, rings = datasets.make_sensitivity_toy, datasets.make_rings
    assert nearest_neighbor(toy, [0, 1, 2], seed) > 0.99 and nearest_neighbor(toy, [3, 4], seed) < 0.5
    assert nearest_neighbor(rings, [0, 1], seed) > 0.97 and nearest_neighbor(rings, range(2, 52), seed) < 0.5


def test_the_best_accuracy_on_the_gaussians_is_that_of_the_papers_svm(seed):
    X, y = datasets.make_gaussians(50_000, random_state=seed)
    means = 4.2 * np.random.default_rng(0).standard_normal((10, 5))
    nearest = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
    assert 99.4 < 100 * np.mean(nearest == y) < 99.7


def test_bundled_sets_need_no_folder(monkeypatch):
    monkeypatch.delenv("POLYMARGIN_DATA", raising=False)
    D = load("iris")
    assert D.X_train.shape == (150, 4) and D.X_test is None and D.n_classes == 3 and D.source == "scikit-learn"


def test_a_folder_comes_first_and_archives_before_the_rest(tmp_path, monkeypatch):
    np.savez(tmp_path / "iris.npz", X_train=np.arange(6, dtype=np.uint8).reshape(3, 2), y_train=[0, 1, 1])
    monkeypatch.setenv("POLYMARGIN_DATA", str(tmp_path))
    D = load("iris")
    assert D.X_train.dtype == np.float32 and D.X_train.shape == (3, 2) and D.n_classes == 2
    other = tmp_path / "other"
    other.mkdir()
    assert load("iris", other).X_train.shape == (150, 4)  # the argument beats the variable; the bundled set is next


def test_libsvm_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X[:100], y[:100], str(tmp_path / "flowers.scale"), zero_based=False)
    D = load("flowers", tmp_path)
    assert np.allclose(D.X_train, X[:100]) and D.X_test is None
    dump_svmlight_file(X[100:], y[100:], str(tmp_path / "flowers.scale.t"), zero_based=False)
    assert np.allclose(load("flowers", tmp_path).X_test, X[100:])
    (tmp_path / "packed.bz2").write_bytes(bz2.compress((tmp_path / "flowers.scale").read_bytes()))
    assert np.allclose(load("packed", tmp_path).X_train, X[:100])


def test_uci_files(tmp_path):
    (tmp_path / "iris.data").write_text("5.1,3.5,1.4,0.2,Iris-setosa\n7.0,3.2,4.7,1.4,Iris-versicolor\n\n")
    D = load("iris", tmp_path)
    assert np.allclose(D.X_train, [[5.1, 3.5, 1.4, 0.2], [7, 3.2, 4.7, 1.4]])
    assert list(D.y_train) == ["Iris-setosa", "Iris-versicolor"]
    (tmp_path / "car.data").write_text("vhigh,low,2,2,small,low,unacc\nlow,med,5more,more,big,high,vgood\n")
    assert np.array_equal(load("car", tmp_path).X_train, [[3, 0, 2, 2, 0, 0], [0, 1, 5, 5, 2, 2]])
    (tmp_path / "sat.trn").write_text(" ".join("1" * 36) + " 7\n")
    (tmp_path / "sat.tst").write_text(" ".join("2" * 36) + " 3\n")
    D = load("satimage", tmp_path)
    assert D.X_train.shape == D.X_test.shape == (1, 36) and D.y_train[0] == 7 and D.y_test[0] == 3


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYMARGIN_DATA", raising=False)

    def no_network(**parameters):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    with pytest.raises(
        DatasetNotFound, match=r"no route to host.*glass\.npz.*glass\.scale.*glass\.data.*POLYMARGIN_DATA"
    ):
        load("glass")
    with pytest.raises(DatasetNotFound, match=r"toy\.npz"):
        load("toy", tmp_path)
    with pytest.raises(DatasetNotFound, match="unheard-of"):
        load("unheard-of")
    with pytest.raises(DatasetNotFound, match="got none"):
        load("glass", tmp_path / "nowhere")


def test_a_download_is_checked_for_its_shape(monkeypatch):
    monkeypatch.delenv("POLYMARGIN_DATA", raising=False)
    answer = np.zeros((3186, 180)), np.arange(3186) % 3
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **parameters: answer)
    D = load("dna")
    assert D.X_train.shape == (2000, 180) and D.X_test.shape == (1186, 180)
    with pytest.raises(DatasetNotFound, match="expected 214 x 9 values"):
        load("glass")


def test_bad_files_are_refused(tmp_path):
    np.savez(tmp_path / "glass.npz", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X_train and y_train"):
        load("glass", tmp_path)
    (tmp_path / "wine.data").write_text("1,2,3\n")
    with pytest.raises(ValueError, match="13 features"):
        load("wine", tmp_path)


# ---- downloads, over real sockets ----------------------------------------------------------------


@pytest.fixture
def site(monkeypatch):
    """A server on this machine: {path: bytes} to answer with, and `cut`, after how many bytes it hangs up."""

    class Answer(http.server.BaseHTTPRequestHandler):
        pages, cut, asked = {}, None, []

        def do_GET(self):
            self.asked.append(self.path)
            page = self.pages[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page[: type(self).cut])

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Answer.address = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setenv("no_proxy", "*")
    yield Answer
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def zoo(site, tmp_path, monkeypatch, rng):
    """The zoo set as a file on the server, and where it is kept."""
    X, y = rng.integers(0, 2, (101, 16)), np.arange(101) % 7 + 1
    lines = [f"animal {k}".replace(" ", "-") + "".join(f",{v}" for v in (*X[k], y[k])) for k in range(101)]
    site.pages["/zoo.data"] = "\n".join(lines).encode()
    source = tmp_path / "source"
    source.mkdir()
    (source / "zoo.data").write_bytes(site.pages["/zoo.data"])
    expected = sources.checksum(load("zoo", source))
    monkeypatch.setitem(sources.ADDRESSES, "zoo", (site.address, expected))
    monkeypatch.delenv("POLYMARGIN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return X, y, tmp_path / "home" / "polymargin" / "zoo"


def test_a_download_is_kept(site, zoo):
    X, y, folder = zoo
    for _ in range(2):
        D = load("zoo")
        assert np.array_equal(D.X_train, X) and np.array_equal(D.y_train, y)
        assert site.asked == ["/zoo.data"]
    assert [f.name for f in folder.iterdir()] == ["zoo.data"]


@pytest.mark.parametrize("damage", [lambda page: page.replace(b",1,", b",0,", 1), lambda page: page[:-40]])
def test_a_damaged_download_is_refused_and_not_kept(site, zoo, damage):
    X, _, folder = zoo
    good = site.pages["/zoo.data"]
    site.pages["/zoo.data"] = damage(good)
    with pytest.raises(DatasetNotFound, match=r"damaged.*not kept.*zoo\.data"):
        load("zoo")
    assert not list(folder.iterdir())
    site.pages["/zoo.data"] = good
    assert np.array_equal(load("zoo").X_train, X)
    (folder / "zoo.data").write_bytes(damage(good))  # damaged later, on the disk
    with pytest.raises(DatasetNotFound, match="damaged"):
        load("zoo")
    assert np.array_equal(load("zoo").X_train, X)


def test_a_download_that_is_cut_is_not_kept(site, zoo, monkeypatch):
    X, _, folder = zoo
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the tries
    site.cut = 500
    with pytest.warns(UserWarning, match="[Rr]etry"), pytest.raises(DatasetNotFound, match="downloading it failed"):
        load("zoo")
    assert not list(folder.iterdir())
    site.cut = None
    assert np.array_equal(load("zoo").X_train, X)


def test_without_network_the_file_and_the_folder_are_named(site, zoo, tmp_path, monkeypatch):
    with socket.socket() as closed:  # a port that nobody listens to
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    monkeypatch.setitem(sources.ADDRESSES, "zoo", (address, None))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.warns(UserWarning, match="[Rr]etry"), pytest.raises(DatasetNotFound) as found:
        load("zoo", tmp_path)
    message = str(found.value)
    assert str(tmp_path) in message and "zoo.npz" in message and "zoo.data (UCI)" in message
    assert "POLYMARGIN_DATA" in message and "refused" in message


def test_the_checksum_is_that_of_values_and_classes(rng):
    X, y = rng.integers(0, 9, (20, 3)), rng.integers(0, 3, 20)
    D = datasets.Dataset("any", X, y)
    same = sources.checksum(datasets.Dataset("any", X.astype(float), np.array(["b", "a", "c"])[y]))
    assert sources.checksum(D) == same
    changed = X.copy()
    changed[7, 1] += 1
    other = np.where(np.arange(20) == 11, (y + 1) % 3, y)
    assert same not in (sources.checksum(datasets.Dataset("any", *part)) for part in ((changed, y), (X, other)))


@pytest.mark.parametrize("name", [name for name, (_, expected) in sources.ADDRESSES.items() if expected])
def test_the_sets_at_hand_have_the_expected_checksums(name, real_data):
    parts = real_data(name)
    D = datasets.Dataset(name, *(parts.get(key) for key in ("X_train", "y_train", "X_test", "y_test")))
    assert sources.checksum(D) == sources.ADDRESSES[name][1]
