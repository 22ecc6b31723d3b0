"""Each name inside open_clip that the encoders use beside its public interface: where a new version lacks
one, the failure says which one and which part of ours it breaks.
"""

from functools import reduce
from importlib import import_module

import pytest

from workbench.encoders._open_clip_towers import text_tower

MODULES = {
    "open_clip.hf_model.HFTextEncoder": "how text towers of transformers are told from others",
    "open_clip.modified_resnet.ModifiedResNet": "how image towers are told apart",
    "open_clip.timm_model.TimmModel": "how image towers are told apart",
    "open_clip.transformer.VisionTransformer": "how image towers are told apart",
    "open_clip.transformer.text_global_pool": "the pooled vector of a caption",
    "open_clip.create_model": "building a model",
    "open_clip.convert.convert_state_dict": "weights from a file",
    "open_clip.model.convert_to_custom_text_state_dict": "weights from a file",
    "open_clip.model.resize_pos_embed": "weights from a file",
    "open_clip.pretrained.download_pretrained_from_hf": "the configuration of a model on the hub",
    "open_clip.tokenizer.HFTokenizer": "the tokenizer of a JSON configuration",
    "open_clip.tokenizer.SimpleTokenizer": "the tokenizer of a JSON configuration",
    "open_clip.transform.PreprocessCfg": "the names of what is said of images",
    "open_clip.get_model_config": "the configuration of a named model",
    "open_clip.list_models": "the near names of an unknown model",
    "open_clip.list_pretrained_tags_by_model": "the near tags of an unknown one",
}
TEXT = "tokens of captions"
NAMES = {
    "vit": {
        "visual.preprocess_cfg": "the preparation of images",
        "visual.image_size": "the preparation of images",
        "visual.forward_intermediates": "patch tokens",
        "visual.conv1.out_channels": "the width of patch tokens",
        "visual.proj": "patch tokens in the joint space",
        "visual.attn_pool": "whether the final norm belongs to the tokens",
        "visual.ln_post": "the branch of log sigma squared",
        "visual.transformer.resblocks": "the branch of log sigma squared, and learning rates by depth",
        "text.token_embedding": TEXT,
        "text.positional_embedding": TEXT,
        "text.transformer.resblocks": TEXT,
        "text.ln_final": TEXT,
        "text.attn_mask": TEXT,
        "text.text_projection": TEXT,
        "text.context_length": "the longest caption",
        "text.vocab_size": "whether a vocabulary fits",
        "text.text_pool_type": "the pooled vector of a caption",
        "text.text_eos_id": "the pooled vector of a caption",
    },
    "vit-custom-text": {
        "text.token_embedding": TEXT,
        "text.positional_embedding": TEXT,
        "text.transformer.resblocks": TEXT,
        "text.ln_final": TEXT,
        "text.attn_mask": TEXT,
        "text.text_projection": TEXT,
        "text.context_length": "the longest caption",
        "text.vocab_size": "whether a vocabulary fits",
        "text.pool_type": "the pooled vector of a caption",
        "text.eos_id": "the pooled vector of a caption",
        "text.output_tokens": "texts that are read in full rows",
    },
    "coca": {
        "text.cls_emb": "texts with a class token",
        "visual.attn_pool": "towers with attentional pooling",
    },
    "resnet": {
        "visual.forward_intermediates": "the grid of a ResNet",
        "visual.attnpool.positional_embedding": "the grid of a ResNet",
        "visual.attnpool.v_proj": "the grid of a ResNet in the joint space",
        "visual.attnpool.c_proj": "the grid of a ResNet in the joint space",
    },
    "timm-vit": {
        "visual.trunk.forward_features": "tokens of a timm tower",
        "visual.trunk.forward_head": "the pooled vector of a timm tower",
        "visual.trunk.num_features": "the width of a timm tower",
        "visual.trunk.blocks": "the branch of log sigma squared",
        "visual.trunk.norm": "the branch of log sigma squared",
        "visual.trunk.group_matcher": "learning rates by depth",
        "visual.head.proj": "tokens of a timm tower in the joint space",
    },
}


@pytest.mark.parametrize("name", MODULES)
def test_open_clip_still_offers(name):
    module, _, inner = name.rpartition(".")
    assert hasattr(import_module(module), inner), f"{name} is gone from open_clip: it gave {MODULES[name]}"


@pytest.mark.parametrize("kind", NAMES)
def test_the_towers_still_have_their_inner_names(kind, towers):
    network = towers(kind).network
    places = {"visual": network.visual, "text": text_tower(network)}
    for name, purpose in NAMES[kind].items():
        side, *path = name.split(".")
        try:
            reduce(getattr, path, places[side])
        except AttributeError as error:
            pytest.fail(f"open_clip's model {kind!r} has no {name} any more, which gave {purpose}: {error}")
